// Members of a JSON object that a client has sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"

namespace agent_graph::facades {

// Place of a value in a request, as api::Problems take it.
using Location = std::vector<std::string>;

Location Below(const Location& location, std::string_view member);

// The text of a member; empty if it is absent or of another type. Valid as long as the object.
std::string_view TextOf(const json& object, const char* name);
// True if the member is `true`, or `false`. Both are false if it is absent or of another type.
bool IsTrue(const json& object, const char* name);
bool IsFalse(const json& object, const char* name);

}  // namespace agent_graph::facades
