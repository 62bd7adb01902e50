#include "runtime/cancellation.h"
#include "base/mutex.h"

#include <atomic>
#include <thread>
#include <utility>

namespace agent_graph::runtime {

struct Cancellation::State {
  std::atomic<CancelReason> reason{CancelReason::kNone};
  Mutex mutex;
  // The mutex also protects the links of the hooks.
  Hook* hooks AG_GUARDED_BY(mutex) = nullptr;
  Hook* running AG_GUARDED_BY(mutex) = nullptr;  // its callback is being called
  std::thread::id running_thread AG_GUARDED_BY(mutex);
  CondVar finished;  // `running` changed
};

const char* CancelReasonName(CancelReason reason) {
  switch (reason) {
    case CancelReason::kNone:
      return "none";
    case CancelReason::kClientGone:
      return "client_gone";
    case CancelReason::kStopped:
      return "stopped";
    case CancelReason::kDeadline:
      return "deadline";
    case CancelReason::kShutdown:
      return "shutdown";
  }
  return "unknown";
}

Cancellation::Cancellation() : state_(std::make_shared<State>()) {}

CancelReason Cancellation::reason() const {
  return state_->reason.load(std::memory_order_acquire);
}

void Cancellation::Cancel(CancelReason reason) const {
  if (reason == CancelReason::kNone) return;
  const std::shared_ptr<State> state = state_;  // a callback may drop the last other reference
  MutexLock lock(state->mutex);
  if (state->reason.load(std::memory_order_relaxed) != CancelReason::kNone) return;
  state->reason.store(reason, std::memory_order_release);
  state->running_thread = std::this_thread::get_id();
  while (Hook* hook = state->hooks) {
    state->hooks = hook->next_;
    if (hook->next_ != nullptr) hook->next_->previous_ = nullptr;
    hook->linked_ = false;
    state->running = hook;
    const auto callback = hook->callback_;
    void* const context = hook->context_;
    lock.Unlock();
    callback(context);
    lock.Lock();
    state->running = nullptr;
    state->finished.NotifyAll();
  }
}

std::unique_ptr<Cancellation::Registration> Cancellation::OnCancel(
    std::function<void()> callback) const {
  return std::make_unique<Registration>(*this, std::move(callback));
}

void Cancellation::Hook::Attach(const Cancellation& cancellation) {
  State& state = *cancellation.state_;
  {
    MutexLock lock(state.mutex);
    if (state.reason.load(std::memory_order_relaxed) == CancelReason::kNone) {
      state_ = &state;
      next_ = state.hooks;
      if (next_ != nullptr) next_->previous_ = this;
      state.hooks = this;
      linked_ = true;
      return;
    }
  }
  callback_(context_);
}

void Cancellation::Hook::Detach() {
  if (state_ == nullptr) return;
  State& state = *std::exchange(state_, nullptr);
  MutexLock lock(state.mutex);
  if (linked_) {
    (previous_ != nullptr ? previous_->next_ : state.hooks) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
    linked_ = false;
    return;
  }
  // A callback that destroys its own registration must not wait for itself.
  if (state.running_thread == std::this_thread::get_id()) return;
  while (state.running == this) state.finished.Wait(state.mutex);
}

Cancellation::Registration::Registration(const Cancellation& cancellation,
                                         std::function<void()> callback)
    : cancellation_(cancellation), callback_(std::move(callback)), hook_(&Call, this) {
  hook_.Attach(cancellation_);
}

void Cancellation::Registration::Call(void* context) {
  // Moved out: the callback may destroy the registration that holds it.
  const std::function<void()> callback = std::move(static_cast<Registration*>(context)->callback_);
  callback();
}

}  // namespace agent_graph::runtime
