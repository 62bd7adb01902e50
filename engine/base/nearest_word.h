// Finds the known word that is most similar to a misspelt one, for error texts.
#pragma once

#include <span>
#include <string_view>

namespace agent_graph {

// Returns the candidate that differs least from `word`, or an empty view if all are too different.
// A word that is cut, the last part of a name, such as "prompt" for "system_prompt", and parts in
// another order, such as "max_retries" for "retries_max", count as one difference.
std::string_view NearestWord(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace agent_graph
