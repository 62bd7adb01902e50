// The request body of invoke, stream and ws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "api/http/context.h"
#include "api/stream/granularity.h"
#include "run/run_request.h"
#include "run/run_sink.h"

namespace agent_graph::api {

// A run, and the form of its response.
struct GraphRequest {
  run::RunRequest run;
  Granularity granularity = Granularity::kLow;
};

// Returns a run of the caller. Sets only the fields that do not depend on the body.
run::RunRequest RunRequestOf(const HandlerContext& context);

// Reads a body whose fields were checked. `messages_key` is the member with the messages. Problems
// of the messages and of `initial_state.context` are added to `problems`.
GraphRequest ReadGraphRequest(const HandlerContext& context, Problems& problems,
                              const std::string& messages_key = "messages");

// Looks up the files that the messages refer to. Returns the error to answer with, if there is one.
std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, GraphRequest& request);

// Frees the request's body, then runs the graph on the calling fiber. A run that began is counted
// in the metrics, also if its client has left meanwhile. Moves data out of `request`.
Result<run::RunOutcome> RunGraph(HandlerContext& context, run::RunRequest&& request,
                                 const runtime::Cancellation& cancellation, run::RunSink& sink);

// Returns the outcome of a run that has ended for the metrics. `reason`: of its cancellation.
std::string CountedAs(const run::RunOutcome& outcome, runtime::CancelReason reason);

// Returns the config that the graph gets: the client's config, which may be null, without the
// server's keys, and with the caller's id.
std::shared_ptr<const json> GraphConfig(const json* config, const Caller& caller);

// True for an id of a run that is safe in logs and paths.
bool IsUsableRunId(std::string_view run_id);

// Checks the budget of a `config`, which is at `config_path`. A misspelled limit must not mean that
// there is none.
void CheckBudget(const HandlerContext& context, const json& config,
                 std::vector<std::string> config_path, Problems& problems);

}  // namespace agent_graph::api
