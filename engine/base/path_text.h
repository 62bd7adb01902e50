// Text from outside that becomes part of a URL's path.
#pragma once

#include <string_view>

namespace agent_graph {

// Why `text`, percent-encoded into a path, might lead a server to another path than the one it was
// put into: the end of a sentence that begins with its name. Null: it cannot. Servers decode "%2F"
// before they resolve "..", proxies in front of them decode once more, and some take a backslash
// for a slash and cut "..;x" at its semicolon.
const char* PathTextFault(std::string_view text);

// True when a component of `path` is "." or "..", whatever follows it after a semicolon.
bool HoldsDotComponent(std::string_view path);

}  // namespace agent_graph
