// Identifies a process by its id and start time, so that a later process with the same id is not
// mistaken for it.
#pragma once

#include <cstdint>

namespace agent_graph {

// Start time of a process in clock ticks since boot. 0 if there is no such process, if it has ended
// (a zombie counts as ended), or if the time cannot be read.
uint64_t ProcessStartTime(int64_t process);

// True if the process with this start time has ended. False if that cannot be determined.
bool ProcessEnded(int64_t process, uint64_t start_time);

}  // namespace agent_graph
