#include "base/clock.h"

#include <cstdio>
#include <ctime>

namespace agent_graph {
namespace {

std::string FormatSeconds(time_t seconds) {
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const int length =
      std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d", parts.tm_year + 1900,
                    parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return std::string(text, static_cast<size_t>(length));
}

}  // namespace

int64_t UnixMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double UnixSeconds() {
  return static_cast<double>(UnixMicros()) / 1e6;
}

std::string IsoTimestamp(int64_t unix_micros) {
  const int64_t seconds = unix_micros / 1'000'000;
  // Every response has a timestamp, and most are in the same second as the one before.
  thread_local int64_t written_seconds = -1;
  thread_local std::string text;
  if (seconds != written_seconds) {
    text = FormatSeconds(static_cast<time_t>(seconds)) + ".000000Z";
    written_seconds = seconds;
  }
  auto micros = static_cast<int>(unix_micros % 1'000'000);
  for (size_t position = text.size() - 2; text[position] != '.'; --position) {
    text[position] = static_cast<char>('0' + micros % 10);
    micros /= 10;
  }
  return text;
}

std::string IsoTimestampNow() {
  return IsoTimestamp(UnixMicros());
}

}  // namespace agent_graph
