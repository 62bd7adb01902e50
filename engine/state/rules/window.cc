#include "state/rules/window.h"

#include <algorithm>

#include "state/limits.h"

namespace agent_graph::state {

size_t FirstKeptItem(size_t count, uint64_t items_max,
                     const std::function<bool(size_t item)>& is_from_user) {
  items_max = std::clamp<uint64_t>(items_max, 1, kWindowItemsMax);
  if (count <= items_max) return 0;
  const size_t cut = count - items_max;
  for (size_t item = cut; item < count; ++item) {
    if (is_from_user(item)) return item;
  }
  const size_t oldest = count > kWindowItemsMax ? count - kWindowItemsMax : 0;
  for (size_t item = cut; item > oldest; --item) {
    if (is_from_user(item)) return item;
  }
  return is_from_user(oldest) ? oldest : cut;
}

}  // namespace agent_graph::state
