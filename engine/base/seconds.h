// Wall-clock times as decimal seconds, many times cheaper than the digits of a double.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph {

// Microseconds since 1970 as seconds with six digits behind the point.
void AppendSeconds(std::string& out, int64_t unix_micros);
// The same as short as a JSON writer puts the number: "12", "12.5".
void AppendShortSeconds(std::string& out, int64_t unix_micros);

}  // namespace agent_graph
