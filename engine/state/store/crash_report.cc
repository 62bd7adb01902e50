#include "state/store/crash_report.h"

#include "state/rules/lost_run.h"

namespace agent_graph::state {
namespace {

std::string FateOf(bool accepted, const std::string& reason) {
  if (reason.empty()) return "a worker continues the run";
  const std::string end = "the run ends as " + reason;
  if (reason == kPoisoned)
    return end + ", because its user code has crashed its workers repeatedly";
  if (reason == kTooManyAttempts) return end + ", because it does not get past this node";
  if (reason != kWorkerLost) return end;
  return end + (accepted ? ", because it can no longer be continued"
                         : ", because only runs in the background are continued");
}

}  // namespace

bool MayBeInUserCode(const Lease& lease) {
  return lease.row.in_user_code || (lease.row.last_append == 0 && lease.has_begun());
}

std::string CrashReport(const LeaseRow& row, bool accepted, const std::string& reason) {
  std::string text = "process " + std::to_string(row.process) + " died while it executed ";
  text += row.in_user_code ? "user code in node " + row.current_node + " of "
                           : "the first functions of ";
  text += "run " + row.run_id + " of thread " + row.thread_id;
  return text + ": " + FateOf(accepted, reason);
}

}  // namespace agent_graph::state
