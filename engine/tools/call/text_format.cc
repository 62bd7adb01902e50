#include "tools/call/text_format.h"

#include <algorithm>
#include <chrono>

namespace agent_graph::tools {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool HasBlankOrControl(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

// `shape` has a '0' where the text has a digit, and otherwise the text's own character.
bool HasShape(std::string_view text, std::string_view shape) {
  return std::ranges::equal(text, shape,
                            [](char c, char s) { return s == '0' ? IsDigit(c) : c == s; });
}

int Number(std::string_view digits) {
  int number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  return number;
}

bool IsEmail(std::string_view text) {
  const size_t at = text.rfind('@');
  if (at == std::string_view::npos || at == 0 || HasBlankOrControl(text)) return false;
  const std::string_view host = text.substr(at + 1);
  return !host.empty() && !host.starts_with('.') && !host.ends_with('.') &&
         host.find("..") == std::string_view::npos;
}

bool IsUri(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size() || HasBlankOrControl(text)) {
    return false;
  }
  const std::string_view scheme = text.substr(0, colon);
  return !scheme.empty() && IsLetter(scheme[0]) && std::ranges::all_of(scheme, [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '+' || c == '-' || c == '.';
  });
}

bool IsDate(std::string_view text) {
  using std::chrono::day, std::chrono::month, std::chrono::year;
  if (!HasShape(text, "0000-00-00")) return false;
  return std::chrono::year_month_day(year(Number(text.substr(0, 4))),
                                     month(static_cast<unsigned>(Number(text.substr(5, 2)))),
                                     day(static_cast<unsigned>(Number(text.substr(8, 2)))))
      .ok();
}

// "Z" or "+01:00".
bool IsOffset(std::string_view text) {
  if (text == "Z" || text == "z") return true;
  if (!HasShape(text, "+00:00") && !HasShape(text, "-00:00")) return false;
  return Number(text.substr(1, 2)) <= 23 && Number(text.substr(4, 2)) <= 59;
}

bool IsTime(std::string_view text) {
  const std::string_view clock = text.substr(0, 8);
  // A leap second has the number 60.
  if (!HasShape(clock, "00:00:00") || Number(clock.substr(0, 2)) > 23 ||
      Number(clock.substr(3, 2)) > 59 || Number(clock.substr(6, 2)) > 60) {
    return false;
  }
  std::string_view rest = text.substr(8);
  if (rest.starts_with('.')) {
    const size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    if (end == 1) return false;
    rest.remove_prefix(end);
  }
  return IsOffset(rest);
}

bool IsDateTime(std::string_view text) {
  if (text.size() < 11 || !IsDate(text.substr(0, 10))) return false;
  return (text[10] == 'T' || text[10] == 't' || text[10] == ' ') && IsTime(text.substr(11));
}

}  // namespace

bool HasFormat(std::string_view text, std::string_view format) {
  if (format == "email") return IsEmail(text);
  if (format == "uri") return IsUri(text);
  if (format == "date") return IsDate(text);
  if (format == "date-time") return IsDateTime(text);
  return true;
}

}  // namespace agent_graph::tools
