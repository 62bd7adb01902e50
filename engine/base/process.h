// A process, told apart from a later one that got the same id.
#pragma once

#include <cstdint>

namespace agent_graph {

// Start time of a process in clock ticks since boot; 0 when there is no such process or it has
// ended already (a zombie counts as ended).
uint64_t ProcessStartTime(int64_t process);

}  // namespace agent_graph
