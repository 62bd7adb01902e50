// A process, told apart from a later one that got the same id.
#pragma once

#include <cstdint>

namespace agent_graph {

// Start time of a process in clock ticks since boot; 0 when there is no such process or it has
// ended already (a zombie counts as ended), or when it cannot be looked up.
uint64_t ProcessStartTime(int64_t process);

// The process that started then has ended. False when that cannot be looked up.
bool ProcessEnded(int64_t process, uint64_t start_time);

}  // namespace agent_graph
