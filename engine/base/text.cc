#include "base/text.h"

#include <algorithm>
#include <array>

namespace agent_graph {
namespace {

// The white space of Unicode in UTF-8, and the separators U+001C to U+001F.
constexpr std::array<std::string_view, 29> kSpaces = {
    " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",
    "\x1e",   "\x1f",   "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
    "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

}  // namespace

std::string_view CutAtCharacter(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xc0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

std::string OneLine(std::string_view text, size_t bytes_max) {
  std::string line(CutAtCharacter(text, bytes_max));
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

bool IsBlank(std::string_view text) {
  while (!text.empty()) {
    // Most texts end the loop here, which runs for each token of a stream.
    if (text.front() > ' ' && text.front() <= '~') return false;
    const auto space = std::ranges::find_if(kSpaces, [&](auto s) { return text.starts_with(s); });
    if (space == kSpaces.end()) return false;
    text.remove_prefix(space->size());
  }
  return true;
}

std::string JoinNames(std::span<const std::string_view> names, std::string_view separator,
                      std::string_view last) {
  std::string joined;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) joined += i + 1 == names.size() ? last : separator;
    joined += names[i];
  }
  return joined;
}

std::string JoinNames(std::span<const std::string_view> names, std::string_view separator) {
  return JoinNames(names, separator, separator);
}

std::string_view Trim(std::string_view text, std::string_view blanks) {
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool HasDotComponent(std::string_view path) {
  for (;;) {
    const size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (component == "." || component == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace agent_graph
