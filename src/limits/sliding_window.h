// Sliding-window counters in plain memory, which processes may share.
//
// Up to kExactMax requests the time of each request is stored. Above that, the window is divided
// into sub-windows, and a request counts until its whole sub-window has left the window. In both
// cases no window ever admits more than the limit. A process that dies during a call leaves a
// usable record.
#pragma once

#include <cstddef>
#include <cstdint>

namespace agent_graph::limits {

// Milliseconds of a monotonic clock that all processes share.
using Millis = uint64_t;

// The limit: `requests` in each window of `window_ms`.
struct WindowShape {
  static constexpr uint32_t kExactMax = 256;
  static constexpr uint32_t kSubWindows = 64;

  uint32_t requests = 0;
  uint32_t window_ms = 0;

  bool exact() const { return requests <= kExactMax; }
  size_t bytes() const;  // size of a record; a multiple of 8
  friend bool operator==(const WindowShape&, const WindowShape&) = default;
};

// The decision about a request.
struct WindowDecision {
  bool admitted = false;
  uint32_t remaining = 0;
  uint32_t wait_ms = 0;  // after a refusal: milliseconds until the oldest request leaves the window
};

// Counts a request at `now` and decides about it. `record` has shape.bytes() bytes, is aligned to
// 8, and is zeroed before its first use and after each pause longer than a window. `now` must not
// decrease from call to call. Not thread-safe.
WindowDecision CheckWindow(const WindowShape& shape, void* record, Millis now);

}  // namespace agent_graph::limits
