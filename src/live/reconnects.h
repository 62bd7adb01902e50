// Reconnects: counts consecutive failures of the connection to the provider.
#pragma once

#include <chrono>

#include "live/session_times.h"

namespace agent_graph::live {

class Reconnects {
 public:
  explicit Reconnects(const SessionTimes& times) : times_(times) {}

  // The provider works.
  void Reset() { failures_ = 0; }
  // Counts a failure. Returns false if the maximum is reached: give up.
  [[nodiscard]] bool CountFailure();
  int failures() const { return failures_; }
  // Time to wait before the next attempt; doubles with each failure. Requires a counted failure.
  std::chrono::milliseconds pause() const;

 private:
  const SessionTimes& times_;
  int failures_ = 0;
};

}  // namespace agent_graph::live
