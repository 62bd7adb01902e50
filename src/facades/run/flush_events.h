// Sends the events that a façade has collected in a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::facades {

// How much of its memory a text keeps for the next event: a stream of words then allocates nothing,
// and one large event takes no memory for the rest of its stream.
inline constexpr size_t kEventBytesKept = 1024;

// Passes `events` to `send`, which returns a Status and may suspend, and empties it. The caller
// adds no events meanwhile.
template <typename Send>
Status FlushEvents(std::string& events, const Send& send) {
  if (events.empty()) return Status::Ok();
  Status sent = send(std::string_view(events));
  if (events.capacity() > kEventBytesKept) {
    std::string().swap(events);
  } else {
    events.clear();
  }
  return sent;
}

}  // namespace agent_graph::facades
