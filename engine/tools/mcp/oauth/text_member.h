// Reads texts from documents of authorization servers.
#pragma once

#include <string>

#include "agent_graph/json.h"

namespace agent_graph::tools::mcp::oauth {

inline constexpr size_t kShownBytesMax = 200;  // maximum part of a server's text in an error

// Returns the member `key` of an object; empty if it is missing or not a string.
inline std::string TextAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace agent_graph::tools::mcp::oauth
