// Text from outside, for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace agent_graph::cli {

// `text` (UTF-8) with "�" in place of control characters other than line breaks and tabs, so that a
// model or a tool can neither move the cursor nor send commands to the terminal.
std::string TerminalText(std::string_view text);

}  // namespace agent_graph::cli
