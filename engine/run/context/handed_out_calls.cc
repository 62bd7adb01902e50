#include "run/context/handed_out_calls.h"

namespace agent_graph::run {

std::unordered_set<std::string> HandedOutCalls(const State& state) {
  std::unordered_set<std::string> ids;
  const auto& messages = state.messages();
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (message->role == Role::kAssistant) break;
    for (const ToolCallBlock* call : message->ToolCalls()) {
      if (call->remote) ids.insert(call->id);
    }
  }
  return ids;
}

}  // namespace agent_graph::run
