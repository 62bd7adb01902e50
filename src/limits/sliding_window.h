// How often something happened in the last window, in plain memory that processes may share.
//
// Up to kExactMax requests the time of each is kept. Above, the window is cut into sub-windows
// whose requests count until the whole sub-window has left the window. Either way no window of that
// length ever holds more than the limit. A process that dies in the middle leaves a usable record.
#pragma once

#include <cstddef>
#include <cstdint>

namespace agent_graph::limits {

// Milliseconds of a monotonic clock that all processes share.
using Millis = uint64_t;

struct WindowShape {
  static constexpr uint32_t kExactMax = 256;
  static constexpr uint32_t kSubWindows = 64;

  uint32_t requests = 0;
  uint32_t window_ms = 0;

  bool exact() const { return requests <= kExactMax; }
  size_t bytes() const;  // of a record; a multiple of 8
  friend bool operator==(const WindowShape&, const WindowShape&) = default;
};

struct WindowDecision {
  bool admitted = false;
  uint32_t remaining = 0;
  uint32_t wait_ms = 0;  // of a refusal: until the oldest request leaves the window
};

// `record` is shape.bytes() long, aligned to 8, and zeroed before its first use and whenever it was
// not used for longer than a window. Time never goes back from call to call.
WindowDecision CheckWindow(const WindowShape& shape, void* record, Millis now);

}  // namespace agent_graph::limits
