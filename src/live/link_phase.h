// LinkPhase: the state machine of a session's connection to the provider.
//
//   absent ─► connecting ─► ready ─► leaving ──────► connecting | waiting
//                 │           ├────► handing over ─► connecting
//                 └───────────┴────► waiting ──────► connecting
//
// ready → connecting replaces a link without a pause. Each phase becomes absent when the session
// ends or needs no link any more.
#pragma once

#include <cstdint>
#include <variant>

#include "base/clock.h"

namespace agent_graph::live {

// Not thread-safe; used on the session's fiber, never blocks. It opens and closes nothing: Session
// does, and reports it here. A transition that is not allowed stops the process.
class LinkPhase {
 public:
  enum class Phase : uint8_t {
    kAbsent,       // no link is open, and none will be
    kConnecting,   // opened; the provider has not accepted the session yet
    kReady,        // the provider has accepted the session
    kLeaving,      // we announced the end; the provider has not confirmed it
    kHandingOver,  // another agent has taken over; the old link still delivers the transcript
                   // that led to it
    kWaiting,      // no link is open; a pause before the next attempt
  };

  Phase phase() const { return Phase{static_cast<uint8_t>(state_.index())}; }
  bool ready() const { return phase() == Phase::kReady; }
  // True if the link is open and not being replaced.
  bool in_use() const { return phase() == Phase::kConnecting || ready(); }
  // True if the link is open but takes no input any more.
  bool departing() const { return phase() == Phase::kLeaving || phase() == Phase::kHandingOver; }
  // Number of links opened so far. It identifies the current link.
  uint64_t number() const { return number_; }

  // A new link was opened. `resumed`: with a resumption handle.
  void Connect(Deadline ready_until, bool resumed);
  // The provider has accepted the session. A link that is still open at `proven_at` works well.
  void Accept(Deadline proven_at);
  // The provider will close the link: it is to be replaced before `replace_at`. Requires
  // kConnecting or kReady. Returns false if the end had been announced before.
  bool AnnounceEnd(Deadline replace_at);
  void Leave(Deadline until);
  void HandOver(Deadline until);
  void Wait(Deadline until);
  void Close();

  // True if the deadline of the phase has passed; always false in kAbsent and kReady.
  bool due(Deadline now) const { return now >= deadline(); }
  Deadline deadline() const;
  // When a ready link must be replaced; kNoDeadline: the provider has not announced its end.
  Deadline replace_at() const;
  // kConnecting: the link was opened with a resumption handle.
  bool resumed() const;
  // True if the link was ready for long enough to forget earlier failures.
  bool proven(Deadline now) const;

 private:
  struct Absent {};
  struct Connecting {
    Deadline ready_until;
    bool resumed = false;
    Deadline replace_at = kNoDeadline;  // a provider may announce the end before it accepts
  };
  struct Ready {
    Deadline proven_at;
    Deadline replace_at;
  };
  struct Leaving {
    Deadline until;
    Deadline proven_at;
  };
  struct HandingOver {
    Deadline until;
  };
  struct Waiting {
    Deadline until;
  };
  // In the order of Phase.
  using State = std::variant<Absent, Connecting, Ready, Leaving, HandingOver, Waiting>;

  void Enter(State next);

  State state_;
  uint64_t number_ = 0;
};

}  // namespace agent_graph::live
