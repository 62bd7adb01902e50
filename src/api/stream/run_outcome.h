// How a run ended, from its record.
#pragma once

#include <optional>

#include "base/status.h"
#include "run/log/run_status.h"
#include "state/runs.h"

namespace agent_graph::api {

// kError for a run that has not ended: its reader has not seen the end.
inline run::RunStatus OutcomeOfRun(state::RunState state) {
  switch (state) {
    case state::RunState::kDone:
      return run::RunStatus::kDone;
    case state::RunState::kInterrupted:
      return run::RunStatus::kInterrupted;
    case state::RunState::kStopped:
      return run::RunStatus::kStopped;
    case state::RunState::kError:
    case state::RunState::kQueued:
    case state::RunState::kRunning:
      break;
  }
  return run::RunStatus::kError;
}

// The failure of a run that ended before it logged anything, as far as its record names it.
std::optional<Status> FailureOfStart(const state::RunRecord& run);

}  // namespace agent_graph::api
