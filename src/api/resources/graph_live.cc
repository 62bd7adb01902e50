// WS /v1/graph/live: a spoken conversation with a live agent. The first frame configures and starts
// the session, which lasts until the socket is closed.
#include <optional>

#include "agent_graph/json.h"
#include "api/resources/exchange_memory.h"
#include "api/resources/handlers.h"
#include "api/resources/run_request.h"
#include "base/free_memory.h"
#include "base/text.h"
#include "graph/compiled_graph.h"
#include "live/live_session.h"
#include "runtime/runtime.h"
#include "websocket/protocol.h"

namespace agent_graph::api {
namespace {

// Refuses an invalid value in the init frame.
void RefuseInit(HandlerContext& context, const std::string& problem) {
  live::Refuse(context.exchange(), "invalid_config", problem,
               websocket::close_code::kUnsupportedData);
}

Result<live::InitFrame> ReadInit(HandlerContext& context, const bridge::SocketMessage& message) {
  Result<live::InitFrame> init = live::InitFrame();
  auto read = [&] { init = live::ReadInitFrame(message); };
  if (message.payload.size() > context.api().settings->limits.json_io_pool_bytes) {
    context.api().runtime->RunOnIoPool(read);
  } else {
    read();
  }
  return init;
}

// Asks the guard about the thread. Returns true if the caller may use it, otherwise the socket was
// closed.
bool AdmitThread(HandlerContext& context, const std::string& thread_id) {
  context.SetBody({{"thread_id", thread_id}}, 0);
  std::optional<ErrorInfo> error = context.CheckBodyThread(context.route());
  if (!error) return true;
  const bool denied = StatusOf(*error) == 403;
  live::Refuse(context.exchange(), denied ? "not_authorized" : std::string(CodeOf(*error)),
               std::string(MessageOf(*error)),
               denied ? websocket::close_code::kPolicy : websocket::close_code::kInternal);
  return false;
}

}  // namespace

void OpenLiveSocket(HandlerContext& context) {
  if (context.api().graph->live_root() != nullptr) return;
  // The error is fatal and precedes the close; otherwise clients would reconnect again and again.
  live::Refuse(context.exchange(), "not_live", "this graph is not live, use /v1/graph/ws",
               websocket::close_code::kPolicy);
}

void RunLiveSession(HandlerContext& context, bridge::SocketMessage& message) {
  Result<live::InitFrame> init = ReadInit(context, message);
  if (!init.ok()) return RefuseInit(context, init.status().message());
  FreeMemory(message.payload);  // free the frame, because the session may take long
  run::RunRequest request;
  if (!IsBlank(init->thread_id)) {
    if (auto problem = ThreadIdProblem(init->thread_id)) {
      return RefuseInit(context, "thread_id: " + *problem);
    }
    if (!AdmitThread(context, init->thread_id)) return;
    request.thread_id = init->thread_id;
  }
  request.scope = context.caller().scope;
  request.user_id = context.caller().user_id;
  request.user = context.caller().user;
  request.trace_parent = context.head().Header("traceparent");
  json config = json::object();
  if (!request.thread_id.empty()) config["thread_id"] = request.thread_id;
  request.config = GraphConfig(&config, context.caller());
  ExchangeMemory memory(context.exchange());
  live::RunSession(context.exchange(), *context.api().live, std::move(request), *init, memory);
}

}  // namespace agent_graph::api
