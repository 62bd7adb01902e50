// NextLink: the link that is prepared while the current one still works.
//
//   none ─► connecting ─► prepared; from both to none when it is taken or dropped
#pragma once

#include <cstdint>

#include "live/session_ports.h"
#include "realtime/link.h"

namespace agent_graph::live {

// Not thread-safe; used on the session's fiber, never blocks.
class NextLink {
 public:
  enum class Phase : uint8_t { kNone, kConnecting, kPrepared };

  explicit NextLink(SessionPorts& ports) : ports_(ports) {}

  Phase phase() const { return phase_; }
  bool exists() const { return phase_ != Phase::kNone; }

  // Connects the next link. An earlier one is replaced.
  void Prepare(const realtime::LinkConfig& config);
  // The link is connected as far as possible without Begin.
  void OnPrepared();
  // Makes the next link the current one and begins its session. Requires exists().
  void Begin(const realtime::LinkConfig& config);
  // Closes the next link if there is one.
  void Drop();

 private:
  void Enter(Phase phase);

  SessionPorts& ports_;
  Phase phase_ = Phase::kNone;
};

}  // namespace agent_graph::live
