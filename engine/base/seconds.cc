#include "base/seconds.h"

#include <charconv>

namespace agent_graph {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr size_t kDecimalPlaces = 6;

}  // namespace

SecondsText::SecondsText(int64_t unix_micros) {
  char* const begin = text_.data();
  char* const point = std::to_chars(begin, begin + 20, unix_micros / kMicrosPerSecond).ptr;
  // Seven digits, of which the point replaces the first one: the others keep their zeros.
  char* end = point + 1 + kDecimalPlaces;
  std::to_chars(point, end, kMicrosPerSecond + unix_micros % kMicrosPerSecond);
  *point = '.';
  size_ = static_cast<size_t>(end - begin);
  while (end[-1] == '0') --end;
  if (end[-1] == '.') --end;
  shortest_ = static_cast<size_t>(end - begin);
}

}  // namespace agent_graph
