// Advice about a key of a configuration file that is not one of the known keys.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace agent_graph {

// Returns a clause that follows "unknown key; ", such as "did you mean models?" or "it belongs in
// parameters: …". It is empty if the key resembles none of the `known` keys.
std::string AdviceForUnknownKey(std::string_view key, std::span<const std::string_view> known);

}  // namespace agent_graph
