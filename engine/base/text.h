// Cuts and cleans text from outside.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace agent_graph {

// The longest prefix of `text` (UTF-8) with at most `bytes_max` bytes that does not split a
// character.
std::string_view CutAtCharacter(std::string_view text, size_t bytes_max);

// The same, with control characters replaced by blanks, so that it stays one line in a log.
std::string OneLine(std::string_view text, size_t bytes_max);

// True if `text` is empty or has only Unicode white space.
bool IsBlank(std::string_view text);

// The names with `separator` between them, but `last` between the last two: "a, b or c".
std::string JoinNames(std::span<const std::string_view> names, std::string_view separator,
                      std::string_view last);
std::string JoinNames(std::span<const std::string_view> names, std::string_view separator);

// Removes `blanks` at both ends.
std::string_view Trim(std::string_view text, std::string_view blanks = " \t");

// True if `path`, cut at its slashes, has a component "." or "..": proxies and servers on the way
// resolve these, so that a URL with such a name never arrives as it was sent.
bool HasDotComponent(std::string_view path);

}  // namespace agent_graph
