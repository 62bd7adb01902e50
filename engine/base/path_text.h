// Checks text from outside that becomes part of a URL's path.
#pragma once

#include <cstddef>
#include <string_view>

namespace agent_graph {

// Explains why `text`, percent-encoded and inserted into a path, might lead a server to another
// path; null if it cannot. The result is the end of a sentence that begins with the name of the
// text. Servers decode "%2F" before they resolve "..", proxies in front of them decode a second
// time, and some treat a backslash as a slash and cut "..;x" at its semicolon. A proxy may pass on
// the decoded path without encoding it again: in "..?x" the next server takes "?x" for the query.
const char* PathTextFault(std::string_view text);

// True if a component of `path` is "." or "..", with or without a suffix after ";", "?" or "#".
bool HoldsDotComponent(std::string_view path);

// Counts what a decoder would replace: "%" followed by two hexadecimal digits.
size_t CountEscapes(std::string_view text);

}  // namespace agent_graph
