#include "base/letter_case.h"

#include <algorithm>

namespace agent_graph {
namespace {

bool AreSame(char a, char b) {
  return LowerCase(a) == LowerCase(b);
}

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix) {
  return EqualsIgnoringCase(text.substr(0, prefix.size()), prefix);
}

bool ContainsIgnoringCase(std::string_view text, std::string_view piece) {
  return piece.empty() || !std::ranges::search(text, piece, AreSame).empty();
}

}  // namespace agent_graph
