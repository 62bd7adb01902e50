#include "base/path_text.h"

#include <algorithm>

#include "base/hex.h"

namespace agent_graph {

size_t CountEscapes(std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    if (at + 2 < text.size() && HexValue(text[at + 1]) >= 0 && HexValue(text[at + 2]) >= 0) ++count;
  }
  return count;
}

bool HoldsDotComponent(std::string_view path) {
  for (;;) {
    const size_t end = path.find('/');
    std::string_view component = path.substr(0, end);
    component = component.substr(0, component.find_first_of(";?#"));
    // Servers on Windows ignore blanks at the end.
    component = component.substr(0, component.find_last_not_of(' ') + 1);
    if (component == "." || component == "..") return true;
    if (end == path.npos) return false;
    path.remove_prefix(end + 1);
  }
}

const char* PathTextFault(std::string_view text) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (control) return "must not hold control characters";
  if (text.find('\\') != text.npos) return "must not hold a backslash";
  if (CountEscapes(text) > 0) return "must not be percent-encoded: that is done when it is sent";
  if (HoldsDotComponent(text)) return "must not hold \".\" or \"..\" as a component of a path";
  return nullptr;
}

}  // namespace agent_graph
