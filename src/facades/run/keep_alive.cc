#include "facades/run/keep_alive.h"

#include <algorithm>
#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::facades {

KeepAlive::KeepAlive(std::chrono::milliseconds interval, std::function<void()> beat,
                     std::chrono::milliseconds interval_max)
    : interval_(interval),
      interval_max_(std::max(interval, interval_max)),
      beat_(std::make_shared<const std::function<void()>>(std::move(beat))),
      alarm_(&OnAlarm, this) {
  alarm_.Set(DeadlineAfter(interval_));
}

KeepAlive::~KeepAlive() {
  alarm_.Cancel();
  state_->EnterTurn();
}

KeepAlive::Turn::Turn(std::optional<KeepAlive>& keep_alive)
    : state_(keep_alive ? keep_alive->state_.get() : nullptr) {
  if (state_ != nullptr) state_->EnterTurn();
}

KeepAlive::Turn::~Turn() {
  if (state_ != nullptr) state_->LeaveTurn();
}

void KeepAlive::State::EnterTurn() {
  runtime::Signal ended;
  {
    MutexLock lock(mutex);
    if (phase != Phase::kBeat) {
      phase = Phase::kTurn;
      return;
    }
    waiting = &ended;
  }
  (void)ended.Wait(nullptr, kNoDeadline);  // a beat ends by its own deadline
}

void KeepAlive::State::LeaveTurn() {
  MutexLock lock(mutex);
  phase = Phase::kIdle;
  quiet_since = MonotonicClock::now();
}

bool KeepAlive::State::EnterBeat() {
  MutexLock lock(mutex);
  if (phase != Phase::kDue) return false;
  phase = Phase::kBeat;
  return true;
}

void KeepAlive::State::LeaveBeat() {
  MutexLock lock(mutex);
  quiet_since = MonotonicClock::now();
  phase = waiting != nullptr ? Phase::kTurn : Phase::kIdle;
  if (waiting != nullptr) std::exchange(waiting, nullptr)->Notify();
}

bool KeepAlive::IsDue() {
  MutexLock lock(state_->mutex);
  const auto now = MonotonicClock::now();
  const bool is_idle = state_->phase == Phase::kIdle;
  const bool is_due = is_idle && now >= state_->quiet_since + interval_;
  if (is_due) {
    state_->phase = Phase::kDue;
    interval_ = std::min(2 * interval_, interval_max_);
  }
  alarm_.Set((is_idle && !is_due ? state_->quiet_since : now) + interval_);
  return is_due;
}

void KeepAlive::OnAlarm(void* context) {
  KeepAlive& self = *static_cast<KeepAlive*>(context);
  if (!self.IsDue()) return;
  const auto beat = [state = self.state_, call = self.beat_] {
    if (!state->EnterBeat()) return;
    (*call)();
    state->LeaveBeat();
  };
  runtime::Runtime::Current()->Spawn(beat, /*here=*/true);
}

}  // namespace agent_graph::facades
