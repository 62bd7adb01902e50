#include "live/reconnects.h"

#include <algorithm>

#include "base/check.h"

namespace agent_graph::live {

bool Reconnects::CountFailure() {
  if (failures_ >= times_.reconnects_max) return false;
  ++failures_;
  return true;
}

std::chrono::milliseconds Reconnects::pause() const {
  AG_CHECK(failures_ > 0, "a pause follows a failure");
  return std::min(times_.reconnect_first * (1 << (failures_ - 1)), times_.reconnect_last);
}

}  // namespace agent_graph::live
