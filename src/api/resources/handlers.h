// The handlers of the route table, one file per resource. Each handler runs on its own fiber, may
// suspend it, and answers the request.
#pragma once

#include <optional>

#include "api/http/errors.h"

namespace agent_graph::bridge {
struct SocketMessage;
}

namespace agent_graph::settings {
struct Settings;
}

namespace agent_graph::api {

class HandlerContext;

void InvokeGraph(HandlerContext& context);  // graph_invoke.cc
void StreamGraph(HandlerContext& context);  // graph_stream.cc
void GetGraph(HandlerContext& context);     // graph_info.cc
void GetStateSchema(HandlerContext& context);
void GetTools(HandlerContext& context);    // graph_tools.cc
void SetUpTools(HandlerContext& context);  // graph_setup.cc
// Returns an error if the settings do not allow /v1/graph/setup.
std::optional<ErrorInfo> SetupIsClosed(const settings::Settings& settings);
void StopGraph(HandlerContext& context);  // graph_stop.cc
void FixGraph(HandlerContext& context);   // graph_fix.cc
void GetTrace(HandlerContext& context);   // observability.cc

void OpenGraphSocket(HandlerContext& context);  // graph_ws.cc
void RunGraphFrame(HandlerContext& context, bridge::SocketMessage& message);
void OpenLiveSocket(HandlerContext& context);  // graph_live.cc
void RunLiveSession(HandlerContext& context, bridge::SocketMessage& message);

void StartRun(HandlerContext& context);  // graph_runs.cc
void ListRuns(HandlerContext& context);  // runs.cc
void GetRun(HandlerContext& context);
void CancelRun(HandlerContext& context);
void WaitForRun(HandlerContext& context);       // run_wait.cc
void StreamStoredRun(HandlerContext& context);  // run_stream.cc

void ListThreads(HandlerContext& context);  // threads.cc
void GetThread(HandlerContext& context);
void DeleteThread(HandlerContext& context);

void GetThreadState(HandlerContext& context);  // thread_state.cc
void PutThreadState(HandlerContext& context);
void DeleteThreadState(HandlerContext& context);

void ListMessages(HandlerContext& context);  // thread_messages.cc
void AddMessages(HandlerContext& context);
void GetMessage(HandlerContext& context);
void DeleteMessage(HandlerContext& context);

void StoreMemory(HandlerContext& context);  // memories.cc
void SearchMemories(HandlerContext& context);
void ListMemories(HandlerContext& context);
void GetMemory(HandlerContext& context);
void UpdateMemory(HandlerContext& context);
void DeleteMemory(HandlerContext& context);
void ForgetMemories(HandlerContext& context);

void UploadFile(HandlerContext& context);    // file_upload.cc
void DownloadFile(HandlerContext& context);  // files.cc
void GetFileInfo(HandlerContext& context);
void GetFileUrl(HandlerContext& context);

void GetMultimodalConfig(HandlerContext& context);  // config.cc

void ListEvalRuns(HandlerContext& context);  // evals.cc
void GetEvalRun(HandlerContext& context);

#ifdef AGENT_GRAPH_ECHO
void OpenEcho(HandlerContext& context);  // echo.cc
void EchoMessage(HandlerContext& context, bridge::SocketMessage& message);
#endif

}  // namespace agent_graph::api
