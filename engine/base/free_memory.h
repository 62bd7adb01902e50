// Frees the memory of a value whose owner lives on.
#pragma once

#include <utility>

namespace agent_graph {

// Sets `value` to T{} and frees what it held. `value = {}` is not enough: a string keeps its
// capacity by that, in a struct as well.
template <typename T>
void FreeMemory(T& value) {
  static_cast<void>(std::exchange(value, T{}));
}

}  // namespace agent_graph
