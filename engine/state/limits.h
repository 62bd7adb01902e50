// Size limits of stored values. They keep a thread's state and window small enough for one frame,
// so that they can be read back.
#pragma once

#include <cstddef>

namespace agent_graph::state {

// Length of the id of a thread, run, message, user or memory.
inline constexpr size_t kIdBytesMax = 1024;
// Custom state fields that a run stores, as JSON.
inline constexpr size_t kFieldsBytesMax = 16 * 1024 * 1024;
inline constexpr size_t kSummaryBytesMax = 4 * 1024 * 1024;
// An interrupt: reason and data.
inline constexpr size_t kInterruptBytesMax = 1024 * 1024;

}  // namespace agent_graph::state
