#include "base/clock.h"

#include <cstdio>
#include <ctime>

namespace agent_graph {

int64_t UnixMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double UnixSeconds() { return static_cast<double>(UnixMicros()) / 1e6; }

std::string IsoTimestamp(int64_t unix_micros) {
  time_t seconds = static_cast<time_t>(unix_micros / 1'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  int length = std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                             parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                             parts.tm_min, parts.tm_sec, static_cast<int>(unix_micros % 1'000'000));
  return std::string(text, static_cast<size_t>(length));
}

std::string IsoTimestampNow() { return IsoTimestamp(UnixMicros()); }

}  // namespace agent_graph
