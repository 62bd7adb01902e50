// Size limits of stored values. They keep a thread's state and window small enough for one frame,
// so that they can be read back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace agent_graph::state {

// A packed request or reply.
inline constexpr size_t kReplyBytesMax = 64 * 1024 * 1024;
// Length of the id of a thread, run, message, user or memory.
inline constexpr size_t kIdBytesMax = 1024;
// Custom state fields that a run stores, as JSON.
inline constexpr size_t kFieldsBytesMax = 16 * 1024 * 1024;
inline constexpr size_t kSummaryBytesMax = 4 * 1024 * 1024;
// An interrupt: reason and data.
inline constexpr size_t kInterruptBytesMax = 1024 * 1024;
// A thread's own JSON (fields, metadata) after a merge.
inline constexpr size_t kThreadJsonBytesMax = 4 * 1024 * 1024;

// Upper limit of a window, whatever is configured: number of messages, and bytes.
inline constexpr uint64_t kWindowItemsMax = 10'000;
inline constexpr size_t kWindowBytesMax = 32 * 1024 * 1024;

// Limits of one page. A page that reaches the byte limit ends there, with at least one item.
inline constexpr uint64_t kPageItemsMax = 1000;
inline constexpr size_t kPageBytesMax = 8 * 1024 * 1024;
// Maximum number of rows that a page skips (offset, search); its cursor continues from there.
inline constexpr uint64_t kRowsPassedMax = 100'000;

}  // namespace agent_graph::state
