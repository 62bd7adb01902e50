// Phases of a WebSocket's request:
//
//   kHandshake -> kAccepted -> kOpen -> kEnded
//                 kAccepted ----------> kEnded     (the connection was lost before the 101 was
//                 sent)
#pragma once

#include <cstdint>

#include "base/check.h"

namespace agent_graph::nginx {

// Used by the event loop's thread only.
class WebSocketPhase {
 public:
  enum class Phase : uint8_t {
    kHandshake,  // the engine has not answered the handshake
    kAccepted,   // the 101 response is queued
    kOpen,       // frames go both ways, or the closing handshake is in progress
    kEnded,      // the request was finalized
  };

  Phase value() const { return value_; }
  void Accept() { MoveTo(Phase::kAccepted); }
  void Open() { MoveTo(Phase::kOpen); }
  void End() { MoveTo(Phase::kEnded); }

 private:
  void MoveTo(Phase next) {
    AG_CHECK(static_cast<int>(next) == static_cast<int>(value_) + 1 ||
                 (next == Phase::kEnded && value_ == Phase::kAccepted),
             "a WebSocket changed to a phase that cannot follow");
    value_ = next;
  }

  Phase value_ = Phase::kHandshake;
};

}  // namespace agent_graph::nginx
