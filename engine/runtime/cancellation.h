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
  Cancellation();

  // The first reason wins; callbacks run once, on the calling thread, outside any lock.
  void Cancel(CancelReason reason) const;
  bool cancelled() const { return reason() != CancelReason::kNone; }
  CancelReason reason() const;

  // Calls `callback` when cancelled (at once if it already is) until the returned registration is
  // destroyed. Destroying it waits for a callback that is running on another thread.
  class Registration;
  std::unique_ptr<Registration> OnCancel(std::function<void()> callback) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace agent_graph::runtime
