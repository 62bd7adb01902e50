// Lifecycle: the state machine of a whole session.
//
//   running ──close, disconnect, worker exits──► draining ──answered, or 30 s──► closed
//      └──────────────── fatal error ───────────────────────────────────────────►┘
//
// A drain has three steps: sending ─► listening ─► answering, or directly sending ─► answering.
#pragma once

#include <cstdint>
#include <variant>

#include "base/clock.h"
#include "live/closing.h"

namespace agent_graph::live {

// Not thread-safe; used on the session's fiber, never blocks. A transition that is not in the
// picture above stops the process.
class Lifecycle {
 public:
  enum class Phase : uint8_t { kRunning, kDraining, kClosed };
  enum class Step : uint8_t {
    kSending,    // frames of the client wait for the model
    kListening,  // all audio was sent, and the model may start to answer it
    kAnswering,  // only answers that are due are awaited
  };

  Phase phase() const { return Phase{static_cast<uint8_t>(state_.index())}; }
  bool running() const { return phase() == Phase::kRunning; }
  bool draining() const { return phase() == Phase::kDraining; }
  bool closed() const { return phase() == Phase::kClosed; }

  // running → draining. `closing` is used when the drain ends.
  void Drain(Deadline until, Closing closing);
  // → closed.
  void Close();

  // The functions below require kDraining.
  Step step() const;
  const Closing& closing() const { return draining_state().closing; }
  // True if the drain has taken too long.
  bool expired(Deadline now) const { return now >= draining_state().until; }
  // sending → listening.
  void Listen(Deadline until);
  // sending, listening → answering.
  void AwaitAnswers();
  // The client has disconnected. Only the first call counts.
  void LoseClient(Deadline now);
  // Time of the first LoseClient; kNoDeadline: the client is there.
  Deadline client_lost_at() const { return draining_state().client_lost_at; }
  // Ends the listening step when its time is over.
  void Advance(Deadline now);

  // The next deadline of the current phase.
  Deadline wake_at() const;

 private:
  struct Running {};
  struct Sending {};
  struct Listening {
    Deadline until;
  };
  struct Answering {};
  using DrainStep = std::variant<Sending, Listening, Answering>;  // in the order of Step
  struct Draining {
    Deadline until;
    Closing closing;
    DrainStep step = {};
    Deadline client_lost_at = kNoDeadline;
  };
  struct Closed {};
  using State = std::variant<Running, Draining, Closed>;  // in the order of Phase

  void Enter(State next);
  void EnterStep(DrainStep next);
  const Draining& draining_state() const;

  State state_;
};

}  // namespace agent_graph::live
