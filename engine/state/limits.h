// What of a thread is stored, so that it can be read back: a thread's state goes in one frame, with
// the window.
#pragma once

#include <cstddef>

namespace agent_graph::state {

// The id of a thread, a run, a message, a user or a memory.
inline constexpr size_t kIdBytesMax = 1024;
// Custom fields that a run leaves, as JSON.
inline constexpr size_t kFieldsBytesMax = 16 * 1024 * 1024;
inline constexpr size_t kSummaryBytesMax = 4 * 1024 * 1024;
// What an interrupt tells, reason and data.
inline constexpr size_t kInterruptBytesMax = 1024 * 1024;

}  // namespace agent_graph::state
