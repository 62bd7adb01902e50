// Cursors of messages that are listed with the newest first.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace agent_graph::state {

inline constexpr char kBackCursorPrefix = 'b';
inline constexpr uint64_t kNewestMessage = std::numeric_limits<uint64_t>::max() - 1;

// Returns the cursor of the page that begins at a message, or at the next older one if there is
// none, and goes on with older ones. The cursor that follows such a page goes back as well. A
// server of an older build refuses it with kInvalidArgument.
inline std::string CursorBackFrom(uint64_t sequence) {
  return kBackCursorPrefix + std::to_string(sequence);
}

}  // namespace agent_graph::state
