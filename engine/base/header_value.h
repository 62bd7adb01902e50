// Decides whether text from outside can be the value of an HTTP header.
#pragma once

#include <string_view>

namespace agent_graph {

// True if `text` has no control characters except tabs. Any other text could end the header and
// begin another one.
bool IsHeaderValue(std::string_view text);

}  // namespace agent_graph
