#include "live/turn.h"

#include <utility>

#include "base/check.h"

namespace agent_graph::live {

void Turn::Enter(State next) {
  const auto* due = std::get_if<Due>(&next);
  AG_CHECK(due == nullptr || due->cause != Cause::kNone, "an answer that is due has a cause");
  state_ = next;
}

Turn::Cause Turn::cause() const {
  if (const auto* due = std::get_if<Due>(&state_)) return due->cause;
  if (const auto* speaking = std::get_if<Speaking>(&state_)) return speaking->cause;
  return Cause::kNone;
}

Deadline Turn::since() const {
  if (const auto* due = std::get_if<Due>(&state_)) return due->since;
  if (const auto* speaking = std::get_if<Speaking>(&state_)) return speaking->since;
  return kNoDeadline;
}

void Turn::Expect() {
  if (expected()) return;
  if (speaking()) {
    Enter(Speaking{Cause::kInput, since()});
  } else {
    Enter(Due{Cause::kInput});
  }
}

void Turn::ExpectFromNewAgent() {
  Enter(Due{Cause::kHandover, since()});
}

void Turn::ExpectAfterTools() {
  Enter(Due{handed_over() ? Cause::kHandover : Cause::kInput});
}

void Turn::Speak() {
  Enter(Speaking{cause(), since()});
}

void Turn::CancelExpected() {
  if (speaking()) {
    Enter(Speaking{Cause::kNone, since()});
  } else {
    Enter(Idle{});
  }
}

void Turn::Complete(bool answer_due) {
  if (answer_due) {
    Enter(Due{Cause::kInput});
  } else {
    Enter(Idle{});
  }
}

void Turn::Interrupt() {
  Enter(Due{Cause::kInput});
}

void Turn::StartClock(Deadline now) {
  if (clock_started()) return;
  if (const auto* due = std::get_if<Due>(&state_)) Enter(Due{due->cause, now});
  if (const auto* speaking = std::get_if<Speaking>(&state_)) Enter(Speaking{speaking->cause, now});
}

Deadline Turn::TakeClock() {
  const Deadline started = since();
  if (const auto* due = std::get_if<Due>(&state_)) Enter(Due{due->cause});
  if (const auto* speaking = std::get_if<Speaking>(&state_)) Enter(Speaking{speaking->cause});
  return started;
}

}  // namespace agent_graph::live
