// One cancellation per run: client abort, stop, deadline and shutdown all arrive here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace agent_graph::runtime {

enum class CancelReason : uint8_t {
  kNone,
  kClientGone,  // the peer closed its connection
  kStopped,     // POST /v1/graph/stop with cancel
  kDeadline,    // the run's deadline passed
  kShutdown,    // the worker is leaving
};

const char* CancelReasonName(CancelReason reason);  // "client_gone", "stopped", ...

// Shared by the run and whoever may cancel it. Thread-safe; copies refer to the same cancellation.
class Cancellation {
 public:
  class Hook;
  class Registration;

  Cancellation();

  // The first reason wins; callbacks run once, on the calling thread, outside any lock. They are
  // short, do not throw and never wait.
  void Cancel(CancelReason reason) const;
  bool cancelled() const { return reason() != CancelReason::kNone; }
  CancelReason reason() const;

  // Calls `callback` when cancelled (at once if it already is) until the returned registration is
  // destroyed. Destroying it waits for a callback that is running on another thread.
  [[nodiscard]] std::unique_ptr<Registration> OnCancel(std::function<void()> callback) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// OnCancel without an allocation, for waits: a hook lives on the waiter's stack and the
// cancellation outlives it. Not movable.
class Cancellation::Hook {
 public:
  using Callback = void (*)(void* context);

  Hook(Callback callback, void* context) : callback_(callback), context_(context) {}
  ~Hook() { Detach(); }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // Once. Calls back before it returns when the cancellation already happened.
  void Attach(const Cancellation& cancellation);
  // After this the callback neither runs nor will run (on another thread: see OnCancel).
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
