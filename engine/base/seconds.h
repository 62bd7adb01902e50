// Formats wall-clock times as decimal seconds, much faster than formatting a double.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph {

// Appends microseconds since 1970 as seconds with six decimal places.
void AppendSeconds(std::string& out, int64_t unix_micros);
// The same in the shortest form, as a JSON writer formats the number: "12", "12.5".
void AppendShortSeconds(std::string& out, int64_t unix_micros);

}  // namespace agent_graph
