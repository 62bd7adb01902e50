#include "live/next_link.h"

#include "base/check.h"

namespace agent_graph::live {

void NextLink::Enter(Phase phase) {
  const bool legal = phase == Phase::kPrepared ? phase_ == Phase::kConnecting
                                               : phase == Phase::kConnecting || exists();
  AG_CHECK(legal, "the next link is connected, prepared, and then taken or dropped");
  phase_ = phase;
}

void NextLink::Prepare(const realtime::LinkConfig& config) {
  Enter(Phase::kConnecting);
  ports_.PrepareNextLink(config);
}

void NextLink::OnPrepared() {
  Enter(Phase::kPrepared);
}

void NextLink::Begin(const realtime::LinkConfig& config) {
  Enter(Phase::kNone);
  ports_.BeginNextLink(config);
}

void NextLink::Drop() {
  if (!exists()) return;
  Enter(Phase::kNone);
  ports_.DropNextLink();
}

}  // namespace agent_graph::live
