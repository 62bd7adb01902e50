// Upper and lower case of ASCII letters. The result does not depend on the locale, which a library
// or user code may have changed. Bytes beyond ASCII are not changed, so UTF-8 stays valid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agent_graph {

constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string LowerCase(std::string_view text);

// In both arguments letters may have either case.
constexpr bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (LowerCase(a[i]) != LowerCase(b[i])) return false;
  }
  return true;
}
bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix);
bool ContainsIgnoringCase(std::string_view text, std::string_view piece);

}  // namespace agent_graph
