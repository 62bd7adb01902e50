#include "base/clock.h"

#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>

namespace agent_graph {
namespace {

constexpr size_t kTextBytesMax = 40;

// The text of the second that was formatted last. Every response has a timestamp, and most are in
// the same second as the one before.
struct IsoSecond {
  int64_t seconds = std::numeric_limits<int64_t>::min();  // of no time
  char text[kTextBytesMax] = {};
  size_t size = 0;

  void Format(int64_t unix_seconds) {
    const auto time = static_cast<time_t>(unix_seconds);
    tm parts{};
    gmtime_r(&time, &parts);
    const int length = std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.000000Z",
                                     parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                                     parts.tm_hour, parts.tm_min, parts.tm_sec);
    size = static_cast<size_t>(length);
    seconds = unix_seconds;
  }
};

}  // namespace

int64_t UnixMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double UnixSeconds() {
  return static_cast<double>(UnixMicros()) / 1e6;
}

IsoTimestampText::IsoTimestampText(int64_t unix_micros) {
  static_assert(sizeof text_ == kTextBytesMax);
  constinit static thread_local IsoSecond last;
  int64_t seconds = unix_micros / kMicrosPerSecond;
  int64_t micros = unix_micros % kMicrosPerSecond;
  if (micros < 0) {  // imported rows may have times before 1970
    --seconds;
    micros += kMicrosPerSecond;
  }
  if (seconds != last.seconds) last.Format(seconds);
  std::memcpy(text_, last.text, sizeof text_);
  size_ = last.size;
  char* digit = text_ + size_ - 1;  // the "Z"
  for (int i = 0; i < 6; ++i, micros /= 10) *--digit = static_cast<char>('0' + micros % 10);
}

std::string IsoTimestamp(int64_t unix_micros) {
  return std::string(IsoTimestampText(unix_micros));
}

std::string IsoTimestampNow() {
  return IsoTimestamp(UnixMicros());
}

}  // namespace agent_graph
