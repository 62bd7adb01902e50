#include "state/store/clients.h"

#include "base/process.h"

namespace agent_graph::state {

bool ClientEntry::ProcessGone() const {
  return process_start != 0 && ProcessEnded(process, process_start);
}

int64_t MonotonicMicros(MonotonicClock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace agent_graph::state
