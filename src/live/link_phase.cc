#include "live/link_phase.h"

#include <utility>

#include "base/check.h"

namespace agent_graph::live {
namespace {

bool MayFollow(LinkPhase::Phase from, LinkPhase::Phase to) {
  using Phase = LinkPhase::Phase;
  if (to == Phase::kAbsent) return true;
  switch (from) {
    case Phase::kAbsent:
    case Phase::kHandingOver:
    case Phase::kWaiting:
      return to == Phase::kConnecting;
    case Phase::kConnecting:
      // kConnecting follows itself after a handover that an earlier link had begun.
      return to == Phase::kReady || to == Phase::kConnecting || to == Phase::kHandingOver ||
             to == Phase::kWaiting;
    case Phase::kReady:
      return to == Phase::kLeaving || to == Phase::kConnecting || to == Phase::kHandingOver ||
             to == Phase::kWaiting;
    case Phase::kLeaving:
      return to == Phase::kConnecting || to == Phase::kWaiting;
  }
  return false;
}

}  // namespace

void LinkPhase::Enter(State next) {
  AG_CHECK(MayFollow(phase(), Phase{static_cast<uint8_t>(next.index())}),
           "the phases of a link follow the picture in link_phase.h");
  state_ = next;
}

void LinkPhase::Connect(Deadline ready_until, bool resumed) {
  Enter(Connecting{ready_until, resumed});
  ++number_;
}

void LinkPhase::Accept(Deadline proven_at) {
  const auto* connecting = std::get_if<Connecting>(&state_);
  AG_CHECK(connecting != nullptr, "a link is accepted once");
  Enter(Ready{proven_at, connecting->replace_at});
}

bool LinkPhase::AnnounceEnd(Deadline replace_at) {
  auto* connecting = std::get_if<Connecting>(&state_);
  auto* ready = std::get_if<Ready>(&state_);
  AG_CHECK(connecting != nullptr || ready != nullptr,
           "only a link that is in use announces its end");
  Deadline& announced = connecting != nullptr ? connecting->replace_at : ready->replace_at;
  return std::exchange(announced, replace_at) == kNoDeadline;
}

void LinkPhase::Leave(Deadline until) {
  const auto* ready = std::get_if<Ready>(&state_);
  AG_CHECK(ready != nullptr, "a link is left after it was accepted");
  Enter(Leaving{until, ready->proven_at});
}

void LinkPhase::HandOver(Deadline until) {
  Enter(HandingOver{until});
}

void LinkPhase::Wait(Deadline until) {
  Enter(Waiting{until});
}

void LinkPhase::Close() {
  Enter(Absent{});
}

Deadline LinkPhase::deadline() const {
  if (const auto* connecting = std::get_if<Connecting>(&state_)) return connecting->ready_until;
  if (const auto* leaving = std::get_if<Leaving>(&state_)) return leaving->until;
  if (const auto* handing_over = std::get_if<HandingOver>(&state_)) return handing_over->until;
  if (const auto* waiting = std::get_if<Waiting>(&state_)) return waiting->until;
  return kNoDeadline;
}

Deadline LinkPhase::replace_at() const {
  const auto* ready = std::get_if<Ready>(&state_);
  return ready != nullptr ? ready->replace_at : kNoDeadline;
}

bool LinkPhase::resumed() const {
  const auto* connecting = std::get_if<Connecting>(&state_);
  return connecting != nullptr && connecting->resumed;
}

bool LinkPhase::proven(Deadline now) const {
  if (const auto* ready = std::get_if<Ready>(&state_)) return now >= ready->proven_at;
  if (const auto* leaving = std::get_if<Leaving>(&state_)) return now >= leaving->proven_at;
  return false;
}

}  // namespace agent_graph::live
