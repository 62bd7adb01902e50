// Writes a JSON array of values that are text already, or that a function appends as text.
#pragma once

#include <string>
#include <utility>

namespace agent_graph {

// Appends `[...]` to `out`. `append(out, item)` appends the JSON of one item.
template <typename Items, typename Append>
void AppendJsonArray(std::string& out, const Items& items, Append append) {
  out += '[';
  bool is_first = true;
  for (const auto& item : items) {
    if (!std::exchange(is_first, false)) out += ',';
    append(out, item);
  }
  out += ']';
}

}  // namespace agent_graph
