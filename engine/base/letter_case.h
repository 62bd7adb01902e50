// Upper and lower case of ASCII letters. Whatever locale a library or a user's code has set, the
// outcome is the same; bytes beyond ASCII stay as they are, so that UTF-8 stays UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace agent_graph {

constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string LowerCase(std::string_view text);

// Of either argument, letters may have either case.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);
bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix);
bool ContainsIgnoringCase(std::string_view text, std::string_view piece);

}  // namespace agent_graph
