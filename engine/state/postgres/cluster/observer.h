// Decides which instances are dead, from their beats alone. No clocks of two machines are compared.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace agent_graph::state::postgres {

// Another instance, as one of our own beats has seen it.
struct PeerBeat {
  std::string id;
  int64_t beat = 0;
};

// An instance is dead when its beat has not changed over several of our own committed beats and
// some time of our monotonic clock. A pause of this process delays the decision, because it counts
// our beats. Not thread-safe.
class Observer {
 public:
  static constexpr unsigned kBeats = 3;
  static constexpr std::chrono::seconds kSilence{3};
  // No decisions for this long after StartOver: after an outage the other hosts need time to beat
  // again.
  static constexpr std::chrono::seconds kGrace{10};

  // Deletes all observations. For the time of kGrace, no host is declared dead then. Call this at
  // the start, after a failed beat, and when the session or the primary server is a new one.
  void StartOver(MonotonicClock::time_point now);

  // Call after a beat of this host was committed. `peers`: the living instances and their beats, as
  // read with that beat. Returns the instances that are dead.
  std::vector<PeerBeat> Observe(const std::vector<PeerBeat>& peers,
                                MonotonicClock::time_point began, MonotonicClock::time_point ended);

 private:
  struct Seen {
    int64_t beat = 0;
    MonotonicClock::time_point since;
    unsigned own_beats = 0;  // our own beats since then
  };

  std::unordered_map<std::string, Seen> peers_;
  MonotonicClock::time_point decides_from_{};
};

}  // namespace agent_graph::state::postgres
