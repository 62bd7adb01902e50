#include "base/seconds.h"

#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>

#include "base/clock.h"

namespace agent_graph {
namespace {

constexpr size_t kDecimalPlaces = 6;

// The text of the second that was formatted last, with its point. Most times are in the same second
// as the one before.
struct WrittenSecond {
  int64_t seconds = std::numeric_limits<int64_t>::min();  // of no time
  char text[21] = {};
  size_t size = 0;

  void Format(int64_t unix_seconds) {
    char* const point = std::to_chars(text, std::end(text) - 1, unix_seconds).ptr;
    *point = '.';
    size = static_cast<size_t>(point + 1 - text);
    seconds = unix_seconds;
  }
};

}  // namespace

SecondsText::SecondsText(int64_t unix_micros) {
  constinit static thread_local WrittenSecond last;
  const int64_t seconds = unix_micros / kMicrosPerSecond;
  if (seconds != last.seconds) last.Format(seconds);
  std::memcpy(text_.data(), last.text, sizeof last.text);
  size_ = last.size + kDecimalPlaces;
  char* end = text_.data() + size_;
  auto micros = static_cast<unsigned>(unix_micros % kMicrosPerSecond);
  for (char* digit = end; digit != text_.data() + last.size; micros /= 10) {
    *--digit = static_cast<char>('0' + micros % 10);
  }
  while (end[-1] == '0') --end;
  if (end[-1] == '.') --end;
  shortest_ = static_cast<size_t>(end - text_.data());
}

}  // namespace agent_graph
