#include "state/rules/lost_run.h"

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/status.h"

namespace agent_graph::state {

std::string LostRunExecution(const std::string& current_node, int64_t step,
                             const std::string& reason) {
  json execution = {{"current_node", current_node}, {"step", step}};
  if (StateOfLostRun(reason) == RunState::kStopped) {
    execution["status"] = "completed";
    execution["stopped"] = true;
  } else {
    execution["status"] = "error";
    execution["reason"] = reason;
  }
  return DumpJson(execution);
}

RunState StateOfLostRun(const std::string& reason) {
  return reason == kStoppedReason ? RunState::kStopped : RunState::kError;
}

std::string LostRunEntry(const std::string& run_id, const std::string& reason) {
  const bool stopped = StateOfLostRun(reason) == RunState::kStopped;
  return DumpJson(
      {{"run_id", run_id}, {"status", stopped ? "stopped" : "error"}, {"reason", reason}});
}

std::vector<LogEntry> LostRunEntries(const std::string& run_id, const std::string& current_node,
                                     int64_t step, const std::string& reason, int64_t micros) {
  std::vector<LogEntry> entries;
  if (reason == kDeadlineReason) {
    const json error = {{"status", "error"},
                        {"code", StatusCodeName(StatusCode::kDeadlineExceeded)},
                        {"reason", kDeadlineText},
                        {"node", current_node},
                        {"step", step}};
    entries.push_back({"error", DumpJson(error), micros});
  }
  entries.push_back({"run_finished", LostRunEntry(run_id, reason), micros});
  return entries;
}

}  // namespace agent_graph::state
