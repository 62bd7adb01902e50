// The one thing a fiber waits on.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {

enum class WakeReason { kNotified, kCancelled, kDeadline };

// An auto-reset event with one waiter: a fiber, or a thread of the user pool (which is then parked
// and does not count against the pool's bound), or any plain thread (tests, the owner process).
// Notify is thread-safe and may come first. Wait returns at the first of: notified, cancelled,
// deadline; a notification always wins over the other two when both have happened.
class Signal {
 public:
  Signal();
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void Notify();
  // `cancellation` may be null: clean-up work waits unmasked by a cancelled run.
  WakeReason Wait(const Cancellation* cancellation, Deadline deadline);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Turns a failed wait into a Status; kNotified gives Ok.
Status WakeStatus(WakeReason reason, const Cancellation* cancellation);

// A value handed over once from any thread to one waiter. Copies share the value: the producer
// keeps its own copy, so a waiter that gave up leaves nothing dangling.
template <typename T>
class Promise {
 public:
  Promise() : state_(std::make_shared<State>()) {}

  void Set(T value) const {
    {
      std::lock_guard lock(state_->mutex);
      if (state_->value) return;
      state_->value.emplace(std::move(value));
    }
    state_->signal.Notify();
  }

  // The value, or the reason why the wait ended without it. At most one caller, once.
  Result<T> Wait(const Cancellation* cancellation, Deadline deadline) const {
    for (;;) {
      {
        std::lock_guard lock(state_->mutex);
        if (state_->value) return std::move(*state_->value);
      }
      WakeReason reason = state_->signal.Wait(cancellation, deadline);
      if (reason == WakeReason::kNotified) continue;
      std::lock_guard lock(state_->mutex);
      if (state_->value) return std::move(*state_->value);
      return WakeStatus(reason, cancellation);
    }
  }

 private:
  struct State {
    std::mutex mutex;
    std::optional<T> value;
    Signal signal;
  };
  std::shared_ptr<State> state_;
};

}  // namespace agent_graph::runtime
