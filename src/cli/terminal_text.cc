#include "cli/terminal_text.h"

#include <cstddef>

namespace agent_graph::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The bytes of the control character at the beginning of `text`; 0: it has none.
size_t ControlBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first == '\n' || first == '\t') return 0;
  if (first < 0x20 || first == 0x7F) return 1;
  // U+0080 to U+009F, which some terminals take for ESC and the next character.
  const bool is_c1 = first == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0;
  return is_c1 ? 2 : 0;
}

}  // namespace

std::string TerminalText(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    if (text.starts_with("\r\n")) text.remove_prefix(1);
    const size_t control = ControlBytes(text);
    shown += control > 0 ? kReplacement : text.substr(0, 1);
    text.remove_prefix(control > 0 ? control : 1);
  }
  return shown;
}

}  // namespace agent_graph::cli
