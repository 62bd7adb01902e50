// The engine's clocks. nginx's cached clocks belong to its own thread and are not used here.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace agent_graph {

using MonotonicClock = std::chrono::steady_clock;
using Deadline = MonotonicClock::time_point;
using Duration = MonotonicClock::duration;

inline constexpr Deadline kNoDeadline = Deadline::max();

inline Deadline DeadlineAfter(std::chrono::milliseconds timeout) {
  return MonotonicClock::now() + timeout;
}

int64_t UnixMicros();  // wall clock, microseconds since 1970
double UnixSeconds();  // the same as fractional seconds (message timestamps)
std::string IsoTimestamp(int64_t unix_micros);  // "2026-06-16T12:00:00.123456Z"
std::string IsoTimestampNow();

}  // namespace agent_graph
