#include "base/seconds.h"

#include <charconv>

namespace agent_graph {

void AppendSeconds(std::string& out, int64_t unix_micros) {
  char text[32];
  char* const point = std::to_chars(text, text + 20, unix_micros / 1'000'000).ptr;
  // Seven digits, of which the point replaces the first one: the others keep their zeros.
  std::to_chars(point, point + 7, 1'000'000 + unix_micros % 1'000'000);
  *point = '.';
  out.append(text, point + 7);
}

void AppendShortSeconds(std::string& out, int64_t unix_micros) {
  AppendSeconds(out, unix_micros);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
}

}  // namespace agent_graph
