// Signal: the primitive that all waits of fibers are built on.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {

enum class WakeReason { kNotified, kCancelled, kDeadline };

// An auto-reset event with one waiter: a fiber, a thread of the user pool (parked meanwhile, so it
// does not count against the pool's limit), or any other thread (tests, the state server). Notify
// is thread-safe and may be called before Wait. Wait returns on notification, cancellation or the
// deadline, whichever is first; a notification takes precedence if several have happened.
class Signal {
 public:
  Signal();
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void Notify();
  // `cancellation` may be null: clean-up work must not be interrupted by the cancellation of its
  // run.
  WakeReason Wait(const Cancellation* cancellation, Deadline deadline);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The Status of an ended wait: Ok for kNotified.
Status WakeStatus(WakeReason reason, const Cancellation* cancellation);

// A value that any thread passes once to one waiter. Copies share the value. The producer keeps its
// own copy, so it may set the value after the waiter has given up.
template <typename T>
class Promise {
 public:
  Promise() : state_(std::make_shared<State>()) {}

  void Set(T value) const {
    {
      MutexLock lock(state_->mutex);
      if (state_->value) return;
      state_->value.emplace(std::move(value));
    }
    state_->signal.Notify();
  }

  // Returns the value, or the reason why the wait ended without it. Only one caller, once.
  Result<T> Wait(const Cancellation* cancellation, Deadline deadline) const {
    for (;;) {
      {
        MutexLock lock(state_->mutex);
        if (state_->value) return std::move(*state_->value);
      }
      WakeReason reason = state_->signal.Wait(cancellation, deadline);
      if (reason == WakeReason::kNotified) continue;
      MutexLock lock(state_->mutex);
      if (state_->value) return std::move(*state_->value);
      return WakeStatus(reason, cancellation);
    }
  }

 private:
  struct State {
    Mutex mutex;
    std::optional<T> value AG_GUARDED_BY(mutex);
    Signal signal;
  };
  std::shared_ptr<State> state_;
};

}  // namespace agent_graph::runtime
