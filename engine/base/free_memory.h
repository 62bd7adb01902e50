// Frees the memory of a value whose owner lives on.
#pragma once

#include <utility>

namespace agent_graph {

// Sets `value` to T{} and frees what it held. `value = {}` is not enough, because strings, also
// those in a struct, would keep their capacity.
template <typename T>
void FreeMemory(T& value) {
  static_cast<void>(std::exchange(value, T{}));
}

}  // namespace agent_graph
