#include "state/rules/unexecuted_resume.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"
#include "state/rules/fold.h"
#include "state/rules/pause.h"

namespace agent_graph::state {

bool IsResumable(const std::string& execution) {
  if (!IsPaused(execution)) return false;
  const Result<json> meta = ParseJson(execution, kOwnJsonLimits);
  const auto node = meta->find("resume_node");
  return node != meta->end() && node->is_string() && !node->get_ref<const std::string&>().empty();
}

std::string WithUnexecutedResume(const std::string& execution) {
  Result<json> meta = ParseJson(execution, kOwnJsonLimits);
  if (!meta.ok() || !meta->is_object()) return execution;
  (*meta)["unexecuted_resume"] = true;
  return DumpJson(*meta);
}

bool UnexecutedRun::TakeEarlier(const std::vector<LogEntry>& entries) {
  const auto is_known = [this] {
    return phase_ == Phase::kUnexecuted || phase_ == Phase::kExecuted;
  };
  const bool ends_run = std::ranges::any_of(
      entries, [](const LogEntry& entry) { return entry.kind == "run_finished"; });
  for (auto entry = entries.rbegin(); entry != entries.rend() && !is_known(); ++entry) {
    Take(entry->kind, ends_run);
  }
  return !is_known();
}

void UnexecutedRun::Take(const std::string& kind, bool ends_run) {
  // Pieces are written beside the log: they may follow its end.
  if (kind == "message_piece") return;
  if (phase_ == Phase::kInAttempt) {
    has_messages_ = has_messages_ || kind == "message";
    if (kind == "node_started") phase_ = Phase::kExecuted;
    if (kind == "attempt_started") phase_ = Phase::kMustHaveLeft;
    if (kind == kRunStarted) phase_ = Phase::kUnexecuted;
    return;
  }
  if (kind == "attempt_left") {
    phase_ = Phase::kInAttempt;
    return;
  }
  if (phase_ == Phase::kAtEnd) {
    if (kind == "error" || kind == "run_finished") return;
    // A worker that refuses the run begins and ends its attempt in one append. Other attempts store
    // their beginning before they execute a node.
    if (kind == "attempt_started" && ends_run) return;
  }
  phase_ = Phase::kExecuted;
}

}  // namespace agent_graph::state
