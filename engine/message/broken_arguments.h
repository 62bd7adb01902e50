// Arguments of a tool call that are not a JSON object, because the model has written them wrongly.
#pragma once

#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"

namespace agent_graph::message {

// Returns the object {"INVALID_JSON": text}, as which such arguments are kept: code that reads
// calls, and providers that take only objects, need no case of their own for them.
std::string BrokenArguments(std::string_view text);

// True if BrokenArguments made them: no tool may be called with them.
bool AreBroken(const json& arguments);

// The arguments of a call as the model has written them.
std::string WrittenArguments(const std::string& arguments_json);

}  // namespace agent_graph::message
