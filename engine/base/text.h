// Text that comes from elsewhere, cut and cleaned.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agent_graph {

// The beginning of `text` (UTF-8), at most `bytes_max` long, cut between characters.
std::string_view CutAtCharacter(std::string_view text, size_t bytes_max);

// The same, with blanks for control characters: a line of a log stays one.
std::string OneLine(std::string_view text, size_t bytes_max);

// Nothing but white space, as Unicode has it.
bool IsBlank(std::string_view text);

// Without the blanks at either end.
std::string_view Trim(std::string_view text, std::string_view blanks = " \t");

// True if `path`, cut at its slashes, has a component "." or "..": proxies and servers on the way
// resolve these, so that a URL with such a name never arrives as it was sent.
bool HasDotComponent(std::string_view path);

}  // namespace agent_graph
