// Turn: the state machine of the model's answers.
//
//   idle ─► due ─► speaking ─► idle | due
//    └────────────────►┘
#pragma once

#include <cstdint>
#include <variant>

#include "base/clock.h"

namespace agent_graph::live {

// The provider decides when the model speaks and when its turn ends, so any phase may follow any
// other. Not thread-safe; used on the session's fiber, never blocks.
class Turn {
 public:
  enum class Phase : uint8_t {
    kIdle,      // no input waits for an answer
    kDue,       // an answer is expected and has not begun
    kSpeaking,  // the model answers, or it has called tools
  };

  Phase phase() const { return Phase{static_cast<uint8_t>(state_.index())}; }
  bool idle() const { return phase() == Phase::kIdle; }
  bool speaking() const { return phase() == Phase::kSpeaking; }
  // True if an answer is expected. While the model speaks: true if that answer was expected.
  bool expected() const { return cause() != Cause::kNone; }
  // True if an agent that took over has not completed an answer yet. It speaks without a question.
  bool handed_over() const { return cause() == Cause::kHandover; }

  // The user has spoken or written.
  void Expect();
  // Another agent has taken over.
  void ExpectFromNewAgent();
  // The model receives the results of its calls. The time of its answer counts from now.
  void ExpectAfterTools();
  void Speak();
  // No answer will come. An answer that has begun continues.
  void CancelExpected();
  // The answer is complete. `answer_due`: another one is to follow.
  void Complete(bool answer_due);
  // The user has interrupted the answer, and expects another one.
  void Interrupt();

  // Starts the measurement of the time until the answer, unless it has started or none is due.
  void StartClock(Deadline now);
  bool clock_started() const { return since() != kNoDeadline; }
  // Start of the measurement if no answer has begun; kNoDeadline: none is due, or one has begun.
  Deadline due_since() const { return phase() == Phase::kDue ? since() : kNoDeadline; }
  // Ends the measurement and returns its start; kNoDeadline: it had not started.
  Deadline TakeClock();

 private:
  // Why an answer is expected.
  enum class Cause : uint8_t { kNone, kInput, kHandover };

  struct Idle {};
  struct Due {
    Cause cause;  // not kNone
    Deadline since = kNoDeadline;
  };
  struct Speaking {
    Cause cause;
    Deadline since = kNoDeadline;
  };
  using State = std::variant<Idle, Due, Speaking>;  // in the order of Phase

  void Enter(State next);
  Cause cause() const;
  Deadline since() const;

  State state_;
};

}  // namespace agent_graph::live
