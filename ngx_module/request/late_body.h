// State of a request body that nginx reads only after the engine has asked for it, so that a client
// must be authenticated before it can upload.
//
//   kNone -> kUnread -> kWanted -> kReading -> kNone
//                                  kReading <-> kStalled     (bodies that are passed on in pieces)
//
// A reply that begins before the end of the body, and the end of the request, lead to kNone from
// everywhere.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace agent_graph::nginx {

// Used by the event loop's thread only. Reads nothing; see worker/body_source.h.
class LateBody {
 public:
  enum class Phase : uint8_t {
    kNone,     // no body, or it has been delivered
    kUnread,   // the engine has not asked for it
    kWanted,   // the engine has asked; reading begins at the end of the batch
    kReading,  // nginx reads it
    kStalled,  // more could be read, but the engine has granted no credit for it
  };

  Phase phase() const { return phase_; }
  bool is_none() const { return phase_ == Phase::kNone; }

  // The body is passed on in pieces and never held whole.
  void SetStreamed() { streamed_ = true; }
  bool streamed() const { return streamed_; }

  // The request was submitted without its body.
  void Expect() { MoveTo(Phase::kUnread); }
  // The engine asks for the body, or permits to read `bytes` more of it. Needs no answer if the
  // body was delivered with the head.
  void Grant(uint64_t bytes) {
    credit_ += bytes;
    if (phase_ == Phase::kUnread) MoveTo(Phase::kWanted);
  }
  // The reply has begun, so the body is not read although the engine wanted it.
  void Refuse() { MoveTo(Phase::kUnread); }
  void BeginReading() { MoveTo(Phase::kReading); }
  void Stall() { MoveTo(Phase::kStalled); }
  void Resume() { MoveTo(Phase::kReading); }
  void End() { phase_ = Phase::kNone; }

  // Bytes of a streamed body that may still be read.
  uint64_t credit() const { return credit_; }
  void UseCredit(uint64_t bytes) { credit_ -= std::min(credit_, bytes); }

 private:
  void MoveTo(Phase next) {
    AG_CHECK(IsAllowed(phase_, next), "a late body changed to a phase that cannot follow");
    phase_ = next;
  }
  static bool IsAllowed(Phase from, Phase to) {
    switch (to) {
      case Phase::kNone:
        return true;
      case Phase::kUnread:
        return from == Phase::kNone || from == Phase::kWanted;
      case Phase::kWanted:
        return from == Phase::kUnread;
      case Phase::kReading:
        return from == Phase::kWanted || from == Phase::kStalled;
      case Phase::kStalled:
        return from == Phase::kReading;
    }
    return false;
  }

  Phase phase_ = Phase::kNone;
  bool streamed_ = false;
  uint64_t credit_ = 0;
};

}  // namespace agent_graph::nginx
