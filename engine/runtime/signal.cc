#include "runtime/signal.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "runtime/engine_thread.h"
#include "runtime/fiber.h"
#include "runtime/user_pool.h"

namespace agent_graph::runtime {
namespace {

// One wait in progress, on the waiter's stack.
struct Waiter {
  Fiber* fiber = nullptr;     // set: resume it; else:
  CondVar* wakeup = nullptr;  // wakes the waiting thread
  bool woken = false;
  WakeReason reason = WakeReason::kNotified;
};

}  // namespace

struct Signal::State {
  Mutex mutex;
  bool notified AG_GUARDED_BY(mutex) = false;
  // The thread that clears it wakes the waiter.
  Waiter* waiter AG_GUARDED_BY(mutex) AG_PT_GUARDED_BY(mutex) = nullptr;

  void Wake(WakeReason reason) {
    Fiber* fiber = nullptr;
    {
      MutexLock lock(mutex);
      if (reason == WakeReason::kNotified) notified = true;
      Waiter* const woken = std::exchange(waiter, nullptr);
      if (woken == nullptr) return;
      woken->woken = true;
      woken->reason = reason;
      fiber = woken->fiber;
      // Under the lock: the waiter and its condition variable may be gone right after it.
      if (fiber == nullptr) woken->wakeup->NotifyOne();
    }
    if (fiber != nullptr) fiber->thread.Ready(fiber);
  }

  static void WakeCancelled(void* context) {
    static_cast<State*>(context)->Wake(WakeReason::kCancelled);
  }
  static void WakeDeadline(void* context) {
    static_cast<State*>(context)->Wake(WakeReason::kDeadline);
  }

  // Registers the waiter. False if the wait is over already.
  bool Enter(Waiter& entering) {
    MutexLock lock(mutex);
    if (notified) return false;
    waiter = &entering;
    return true;
  }

  void WaitOnFiber(Waiter& entering, const Cancellation* cancellation, Deadline deadline) {
    EngineThread& thread = entering.fiber->thread;
    if (!Enter(entering)) return;
    Cancellation::Hook hook(&WakeCancelled, this);
    if (cancellation != nullptr) hook.Attach(*cancellation);
    Timer timer;
    timer.deadline = deadline;
    timer.callback = &WakeDeadline;
    timer.context = this;
    if (deadline != kNoDeadline) thread.AddTimer(timer);
    Suspend();
    thread.RemoveTimer(timer);
  }

  void WaitOnThread(Waiter& entering, const Cancellation* cancellation, Deadline deadline) {
    thread_local CondVar wakeup;
    entering.wakeup = &wakeup;
    const UserPool::Parked parked;
    if (!Enter(entering)) return;
    // Waiting here would block the loop that has to cause the notification.
    AG_CHECK(EngineThread::Current() == nullptr, "a handler of the event loop does not wait");
    Cancellation::Hook hook(&WakeCancelled, this);
    if (cancellation != nullptr) hook.Attach(*cancellation);
    MutexLock lock(mutex);
    bool in_time = true;
    while (!entering.woken && in_time) in_time = wakeup.WaitUntil(mutex, deadline);
    if (!entering.woken) {
      waiter = nullptr;
      entering.reason = WakeReason::kDeadline;
    }
  }
};

Signal::Signal() : state_(std::make_shared<State>()) {}
Signal::~Signal() = default;

void Signal::Notify() {
  // The waiter may destroy this signal as soon as it wakes up.
  const std::shared_ptr<State> state = state_;
  state->Wake(WakeReason::kNotified);
}

WakeReason Signal::Wait(const Cancellation* cancellation, Deadline deadline) {
  Waiter waiter;
  waiter.fiber = Fiber::Current();
  if (cancellation != nullptr && cancellation->cancelled()) {
    waiter.reason = WakeReason::kCancelled;
  } else if (deadline != kNoDeadline && deadline <= MonotonicClock::now()) {
    waiter.reason = WakeReason::kDeadline;
  } else if (waiter.fiber != nullptr) {
    state_->WaitOnFiber(waiter, cancellation, deadline);
  } else {
    state_->WaitOnThread(waiter, cancellation, deadline);
  }
  MutexLock lock(state_->mutex);
  if (std::exchange(state_->notified, false)) return WakeReason::kNotified;
  return waiter.reason;
}

Status WakeStatus(WakeReason reason, const Cancellation* cancellation) {
  switch (reason) {
    case WakeReason::kNotified:
      return Status::Ok();
    case WakeReason::kDeadline:
      return Status(StatusCode::kDeadlineExceeded, "the deadline passed");
    case WakeReason::kCancelled:
      break;
  }
  const CancelReason cause = cancellation != nullptr ? cancellation->reason() : CancelReason::kNone;
  if (cause == CancelReason::kDeadline) {
    return Status(StatusCode::kDeadlineExceeded, "the run's deadline passed");
  }
  return Status(StatusCode::kCancelled,
                std::string("the run was cancelled: ") + CancelReasonName(cause));
}

}  // namespace agent_graph::runtime
