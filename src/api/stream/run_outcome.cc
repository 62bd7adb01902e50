#include "api/stream/run_outcome.h"

#include "run/entry_events.h"
#include "state/rules/lost_run.h"

namespace agent_graph::api {

std::optional<Status> FailureOfStart(const state::RunRecord& run) {
  if (run.reason == state::kDeadlineReason) {
    return Status(StatusCode::kDeadlineExceeded, state::kDeadlineText);
  }
  const StatusCode code = run::CodeNamed(run.reason);
  if (code == StatusCode::kInternal) return std::nullopt;
  return Status(code, code == StatusCode::kInvalidArgument
                          ? "the run did not start, because its request did not fit the thread"
                          : "the run did not start");
}

}  // namespace agent_graph::api
