// The request body that invoke and stream share.
#pragma once

#include <cstdint>
#include <optional>

#include "api/context.h"
#include "run/runner.h"

namespace agent_graph::api {

// How much of the state an answer shows; the run itself does not depend on it.
enum class Granularity : uint8_t { kLow, kPartial, kFull };

struct GraphRequest {
  run::RunRequest run;
  Granularity granularity = Granularity::kLow;
};

// Reads a body whose fields were checked and whose messages are the member `messages_key`; what is
// wrong with those, or with `initial_state.context`, goes to `problems`.
GraphRequest ReadGraphRequest(const HandlerContext& context, Problems& problems,
                              const std::string& messages_key = "messages");

// Looks up the files that its messages refer to. The error to answer with.
std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, GraphRequest& request);

// Runs the graph on the calling fiber, frees the request's body first, and has a run that began
// counted, whatever has become of its request by then.
Result<run::RunOutcome> RunGraph(HandlerContext& context, run::RunRequest request,
                                 const runtime::Cancellation& cancellation, run::RunSink& sink);

// Part of `config` that belongs to the server: `user`, `user_id`, `authz` and all names that start
// with an underscore.
bool IsReservedConfigKey(std::string_view key);
// What is left of `config`, which may be null, without that part.
json ClientConfig(const json* config);

// What the graph sees: the client's config, which may be null, without the server's keys, and the
// caller.
std::string GraphConfig(const json* config, const Caller& caller);

// {"is_new_thread":…,"thread_id":…,"thread_name":…,"run_id":…}: `meta` of an invoke.
std::string RunMetaJson(const run::RunStart& start);

}  // namespace agent_graph::api
