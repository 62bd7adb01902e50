#include "state/rules/run_state.h"

#include <array>

namespace agent_graph::state {
namespace {

// In the order of RunState.
constexpr std::array<std::string_view, 6> kNames = {"queued", "running", "interrupted",
                                                    "done",   "error",   "stopped"};

}  // namespace

std::string_view RunStateName(RunState state) {
  return kNames.at(static_cast<size_t>(state));
}

RunState RunStateOf(std::string_view status) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == status) return static_cast<RunState>(i);
  }
  return RunState::kError;
}

}  // namespace agent_graph::state
