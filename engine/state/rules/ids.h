// Checks of the ids that callers choose.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph::state {

// Returns kInvalidArgument, naming `what`, unless the id has 1 to kIdBytesMax bytes.
Status CheckId(const std::string& id, const char* what);
// Like CheckId, but accepts an empty user id.
Status CheckUser(const std::string& user_id);

}  // namespace agent_graph::state
