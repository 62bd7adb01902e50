// Runs that ended without reporting their end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "state/runs.h"
#include "state/types.h"

namespace agent_graph::state {

// Reasons logged for such a run.
inline constexpr char kWorkerLost[] = "worker_lost";
inline constexpr char kEndNotStored[] = "end_not_stored";
// The database was restored to an earlier state, or has lost entries that it had acknowledged.
inline constexpr char kHistoryLost[] = "history_lost";
// Reasons of accepted runs that no worker executes any more.
inline constexpr char kDamagedReason[] = "DATA_LOSS";  // their rows cannot be read
inline constexpr char kPoisoned[] = "poisoned";        // its user code has crashed workers
inline constexpr char kTooManyAttempts[] = "attempts";
inline constexpr char kStoppedReason[] = "stopped";
inline constexpr char kDeadlineReason[] = "deadline";
inline constexpr char kDeadlineText[] = "the run took longer than it may";

// A run becomes a suspect when its worker crashes while the run is in user code. After so many
// further crashes it is poisoned. Alone: no other run was in user code. Beside: others were, but no
// other suspect; a busy worker always has others.
inline constexpr uint32_t kCrashesAloneMax = 2;
inline constexpr uint32_t kCrashesBesideMax = 5;
// Attempts in a row that were lost at the same node, after which the run ends. Attempts that a
// worker has given back do not count.
inline constexpr uint32_t kAttemptsInPlaceMax = 100;

// Builds the execution meta of a run that did not report its end: an error with this reason.
std::string LostRunExecution(const std::string& current_node, int64_t step,
                             const std::string& reason);
// The state of such a run.
RunState StateOfLostRun(const std::string& reason);
// Builds the log entry that ends such a run.
std::string LostRunEntry(const std::string& run_id, const std::string& reason);
// The entries at the end of such a run. A run past its deadline also has an error entry, as if its
// worker had ended it; for other reasons the entry that ends the run is enough.
std::vector<LogEntry> LostRunEntries(const std::string& run_id, const std::string& current_node,
                                     int64_t step, const std::string& reason, int64_t micros);

}  // namespace agent_graph::state
