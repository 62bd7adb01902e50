// The result of a run that another fiber or worker executes, in the form of an invoke response.
#pragma once

#include <optional>
#include <string>

#include "api/http/context.h"
#include "api/stream/granularity.h"
#include "run/run_sink.h"
#include "state/runs.h"

namespace agent_graph::api {

// Returns `data` of an invoke response. low: messages and meta; partial: state and context, too;
// full: the summary as well.
std::string InvokeData(run::RunOutcome outcome, Granularity granularity);

// Waits until the run has ended. kDeadlineExceeded: it has not; `run` is then its record.
Status AwaitRunEnd(HandlerContext& context, state::RunRecord& run, Deadline deadline);

// Answers with the result of a run that has ended, from the stored state: as invoke would have
// done.
void AnswerRunResult(HandlerContext& context, const state::RunRecord& run, Granularity granularity);

}  // namespace agent_graph::api
