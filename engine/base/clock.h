// The engine's clocks. nginx's cached clocks belong to its own thread and are not used here.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph {

using MonotonicClock = std::chrono::steady_clock;
using Deadline = MonotonicClock::time_point;
using Duration = MonotonicClock::duration;

inline constexpr int64_t kMicrosPerSecond = 1'000'000;

inline constexpr Deadline kNoDeadline = Deadline::max();

inline Deadline DeadlineAfter(std::chrono::milliseconds timeout) {
  return MonotonicClock::now() + timeout;
}

int64_t UnixMicros();  // wall clock, microseconds since 1970
double UnixSeconds();  // the same as fractional seconds (message timestamps)

// A timestamp as text, such as "2026-06-16T12:00:00.123456Z". Does not allocate memory. A view of
// it is valid as long as the object.
class IsoTimestampText {
 public:
  // `unix_micros`: microseconds since 1970, negative for an earlier time.
  explicit IsoTimestampText(int64_t unix_micros);
  operator std::string_view() const { return {text_, size_}; }  // NOLINT: implicit on purpose

 private:
  char text_[40];
  size_t size_;
};

std::string IsoTimestamp(int64_t unix_micros);
std::string IsoTimestampNow();

}  // namespace agent_graph
