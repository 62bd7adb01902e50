#include "state/rules/scope.h"

namespace agent_graph::state {

bool InScope(const Scope& scope, const std::string& owner) {
  if (scope.kind == Scope::Kind::kAll) return true;
  return !owner.empty() && owner == scope.user_id;
}

}  // namespace agent_graph::state
