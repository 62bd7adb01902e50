#include "state/rules/lost_run.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::state {

std::string LostRunExecution(const std::string& current_node, int64_t step,
                             const std::string& reason) {
  return DumpJson(
      {{"current_node", current_node}, {"step", step}, {"status", "error"}, {"reason", reason}});
}

std::string LostRunEntry(const std::string& run_id, const std::string& reason) {
  return DumpJson({{"run_id", run_id}, {"status", "error"}, {"reason", reason}});
}

}  // namespace agent_graph::state
