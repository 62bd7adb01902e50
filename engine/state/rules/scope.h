// Access of a scope to rows.
#pragma once

#include <string>

#include "state/types.h"

namespace agent_graph::state {

// True if rows of `owner` are within the scope. A row without an owner belongs to no user.
bool InScope(const Scope& scope, const std::string& owner);

}  // namespace agent_graph::state
