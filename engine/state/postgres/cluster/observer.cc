#include "state/postgres/cluster/observer.h"

#include <utility>

namespace agent_graph::state::postgres {

void Observer::StartOver(MonotonicClock::time_point now) {
  peers_.clear();
  decides_from_ = now + kGrace;
}

std::vector<PeerBeat> Observer::Observe(const std::vector<PeerBeat>& peers,
                                        MonotonicClock::time_point began,
                                        MonotonicClock::time_point ended) {
  std::unordered_map<std::string, Seen> seen;
  std::vector<PeerBeat> dead;
  for (const PeerBeat& peer : peers) {
    const auto last = peers_.find(peer.id);
    if (last == peers_.end() || last->second.beat != peer.beat) {
      seen.emplace(peer.id, Seen{peer.beat, ended, 0});
      continue;
    }
    Seen& same = seen.emplace(peer.id, last->second).first->second;
    ++same.own_beats;
    const bool silent = same.own_beats >= kBeats && began - same.since >= kSilence;
    if (silent && began >= decides_from_) dead.push_back(peer);
  }
  peers_ = std::move(seen);
  return dead;
}

}  // namespace agent_graph::state::postgres
