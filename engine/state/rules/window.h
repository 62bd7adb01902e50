// The working window: the messages of a thread that the next run sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace agent_graph::state {

// Returns the first item to keep of a window of `count` items that may have `items_max`: the window
// starts at the first user message among the last `items_max` items, else at the last one before
// them, so that a single long turn stays complete. Without any user message, or above
// kWindowItemsMax, only the count decides.
size_t FirstKeptItem(size_t count, uint64_t items_max,
                     const std::function<bool(size_t item)>& is_from_user);

}  // namespace agent_graph::state
