#include "run/log/run_status.h"

namespace agent_graph::run {

const char* RunStatusName(RunStatus status) {
  switch (status) {
    case RunStatus::kDone:
      return "done";
    case RunStatus::kError:
      return "error";
    case RunStatus::kStopped:
      return "stopped";
    case RunStatus::kInterrupted:
      return "interrupted";
  }
  return "error";
}

std::optional<RunStatus> ParseRunStatus(std::string_view name) {
  for (const RunStatus status :
       {RunStatus::kDone, RunStatus::kError, RunStatus::kStopped, RunStatus::kInterrupted}) {
    if (name == RunStatusName(status)) return status;
  }
  return std::nullopt;
}

}  // namespace agent_graph::run
