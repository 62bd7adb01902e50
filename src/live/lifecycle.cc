#include "live/lifecycle.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace agent_graph::live {

void Lifecycle::Enter(State next) {
  AG_CHECK(next.index() > state_.index(), "a session runs, drains and closes, and never goes back");
  state_ = std::move(next);
}

void Lifecycle::EnterStep(DrainStep next) {
  auto* draining = std::get_if<Draining>(&state_);
  AG_CHECK(draining != nullptr, "only a session that drains has steps");
  AG_CHECK(next.index() > draining->step.index(), "the steps of a drain are not repeated");
  draining->step = next;
}

const Lifecycle::Draining& Lifecycle::draining_state() const {
  const auto* draining = std::get_if<Draining>(&state_);
  AG_CHECK(draining != nullptr, "the session drains");
  return *draining;
}

void Lifecycle::Drain(Deadline until, Closing closing) {
  Enter(Draining{until, std::move(closing)});
}

void Lifecycle::Close() {
  Enter(Closed{});
}

Lifecycle::Step Lifecycle::step() const {
  return Step{static_cast<uint8_t>(draining_state().step.index())};
}

void Lifecycle::Listen(Deadline until) {
  EnterStep(Listening{until});
}

void Lifecycle::AwaitAnswers() {
  EnterStep(Answering{});
}

void Lifecycle::LoseClient(Deadline now) {
  auto* draining = std::get_if<Draining>(&state_);
  AG_CHECK(draining != nullptr, "a session that loses its client drains");
  draining->client_lost_at = std::min(draining->client_lost_at, now);
}

void Lifecycle::Advance(Deadline now) {
  const auto* listening = std::get_if<Listening>(&draining_state().step);
  if (listening != nullptr && now >= listening->until) AwaitAnswers();
}

Deadline Lifecycle::wake_at() const {
  const auto* draining = std::get_if<Draining>(&state_);
  if (draining == nullptr) return kNoDeadline;
  const auto* listening = std::get_if<Listening>(&draining->step);
  return listening == nullptr ? draining->until : std::min(draining->until, listening->until);
}

}  // namespace agent_graph::live
