// A run's record as clients see it, and where its stream is.
#pragma once

#include <string>

#include "api/http/context.h"
#include "state/runs.h"

namespace agent_graph::api {

std::string_view NameOf(state::RunState state);

// Appends the record as a JSON object.
void AppendRunRecord(std::string& out, const state::RunRecord& run);
// {"run_id":…,"thread_id":…,"status":…,"attempt":…}
std::string AcceptedRunJson(const state::RunRecord& run);

// Returns the URL path of a run's stream within the location of this request.
std::string RunStreamPath(const HandlerContext& context, const std::string& thread_id,
                          const std::string& run_id);

// Returns the run that the path names; kNotFound also for an id that no run can have.
Result<state::RunRecord> FindRun(HandlerContext& context);

}  // namespace agent_graph::api
