// Runs that ended without reporting their end.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph::state {

// Reasons logged for such a run.
inline constexpr char kWorkerLost[] = "worker_lost";
inline constexpr char kEndNotStored[] = "end_not_stored";

// Builds the execution meta of a run that did not report its end: an error with this reason.
std::string LostRunExecution(const std::string& current_node, int64_t step,
                             const std::string& reason);
// Builds the log entry that ends such a run.
std::string LostRunEntry(const std::string& run_id, const std::string& reason);

}  // namespace agent_graph::state
