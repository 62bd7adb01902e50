// Cancellation of a run. Each run has one; client disconnects, stop requests, deadlines and
// shutdown all use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace agent_graph::runtime {

enum class CancelReason : uint8_t {
  kNone,
  kClientGone,  // the client closed its connection
  kStopped,     // POST /v1/graph/stop with cancel
  kDeadline,    // the run's deadline passed
  kShutdown,    // the worker is shutting down
};

const char* CancelReasonName(CancelReason reason);  // "client_gone", "stopped", ...

// Shared by the run and the code that may cancel it. Thread-safe; copies refer to the same
// cancellation.
class Cancellation {
 public:
  class Hook;
  class Registration;

  Cancellation();

  // The first reason is kept. Callbacks run once, on the calling thread, without a lock held; they
  // must be short, must not throw and must not wait.
  void Cancel(CancelReason reason) const;
  bool cancelled() const { return reason() != CancelReason::kNone; }
  CancelReason reason() const;

  // Registers `callback` until the returned registration is destroyed. If already cancelled, calls
  // it at once. Destroying the registration waits for a callback that is running on another thread.
  [[nodiscard]] std::unique_ptr<Registration> OnCancel(std::function<void()> callback) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// OnCancel without an allocation, for waits: the hook is on the waiter's stack, and the
// cancellation must outlive it. Not movable.
class Cancellation::Hook {
 public:
  using Callback = void (*)(void* context);

  Hook(Callback callback, void* context) : callback_(callback), context_(context) {}
  ~Hook() { Detach(); }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // Call it once. If already cancelled, it runs the callback before it returns.
  void Attach(const Cancellation& cancellation);
  // After this the callback neither runs nor will run. If it is running on another thread, waits
  // for it.
  void Detach();

 private:
  friend class Cancellation;

  const Callback callback_;
  void* const context_;
  State* state_ = nullptr;
  Hook* previous_ = nullptr;  // guarded by the state's mutex, like the rest
  Hook* next_ = nullptr;
  bool linked_ = false;
};

// Returned by OnCancel. Destroy it to remove the callback.
class Cancellation::Registration {
 public:
  Registration(const Cancellation& cancellation, std::function<void()> callback);

 private:
  static void Call(void* context);

  const Cancellation cancellation_;  // keeps the state alive for the hook
  std::function<void()> callback_;
  Hook hook_;
};

}  // namespace agent_graph::runtime
