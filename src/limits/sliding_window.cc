#include "limits/sliding_window.h"

#include <algorithm>
#include <cstring>

namespace agent_graph::limits {
namespace {

// Two more than sub-windows: a window starts and ends in the middle of a sub-window.
constexpr uint32_t kCounters = WindowShape::kSubWindows + 2;

// A ring buffer of the low 32 bits of times. They suffice, because no time is older than two
// windows.
struct ExactRecord {
  uint64_t span;  // index of the oldest time and their number; one store changes both
  uint32_t times[];
};

struct CountedRecord {
  uint64_t newest;  // sub-window, counted from the start of the clock
  uint32_t counts[kCounters];
};

WindowDecision CheckExact(const WindowShape& shape, ExactRecord& record, Millis now) {
  auto oldest = static_cast<uint32_t>(record.span >> 32);
  auto count = static_cast<uint32_t>(record.span);
  const auto now_low = static_cast<uint32_t>(now);
  // Times are truncated to milliseconds, so only a difference above the window is certainly a whole
  // window.
  while (count > 0 && now_low - record.times[oldest] > shape.window_ms) {
    oldest = (oldest + 1) % shape.requests;
    --count;
  }
  WindowDecision decision;
  decision.admitted = count < shape.requests;
  if (decision.admitted) {
    record.times[(oldest + count) % shape.requests] = now_low;
    ++count;
  } else {
    decision.wait_ms = shape.window_ms - (now_low - record.times[oldest]) + 1;
  }
  record.span = uint64_t{oldest} << 32 | count;
  decision.remaining = shape.requests - count;
  return decision;
}

void ForgetOldCounts(CountedRecord& record, uint64_t current) {
  if (current - record.newest >= kCounters) {
    std::memset(record.counts, 0, sizeof(record.counts));
  } else {
    for (uint64_t next = record.newest + 1; next <= current; ++next) {
      record.counts[next % kCounters] = 0;
    }
  }
  record.newest = current;
}

WindowDecision CheckCounted(const WindowShape& shape, CountedRecord& record, Millis now) {
  const uint64_t width =
      (shape.window_ms + WindowShape::kSubWindows - 1) / WindowShape::kSubWindows;
  const uint64_t current = now / width;
  ForgetOldCounts(record, current);
  uint64_t count = 0;
  uint64_t oldest_end = 0;
  uint64_t first = current >= kCounters - 1 ? current - (kCounters - 1) : 0;
  for (uint64_t index = first; index <= current; ++index) {
    uint64_t end = (index + 1) * width;
    uint32_t here = record.counts[index % kCounters];
    if (here == 0 || end + shape.window_ms <= now) continue;
    if (count == 0) oldest_end = end;
    count += here;
  }
  WindowDecision decision;
  decision.admitted = count < shape.requests;
  if (decision.admitted) {
    ++record.counts[current % kCounters];
    decision.remaining = static_cast<uint32_t>(shape.requests - count - 1);
  } else {
    decision.wait_ms = static_cast<uint32_t>(oldest_end + shape.window_ms - now);
  }
  return decision;
}

}  // namespace

size_t WindowShape::bytes() const {
  size_t size = exact() ? sizeof(ExactRecord) + requests * sizeof(uint32_t) : sizeof(CountedRecord);
  return (size + 7) / 8 * 8;
}

WindowDecision CheckWindow(const WindowShape& shape, void* record, Millis now) {
  return shape.exact() ? CheckExact(shape, *static_cast<ExactRecord*>(record), now)
                       : CheckCounted(shape, *static_cast<CountedRecord*>(record), now);
}

}  // namespace agent_graph::limits
