// Asks an accepted run to leave this worker; another one continues it.
#pragma once

#include <atomic>
#include <utility>

#include "base/mutex.h"
#include "runtime/cancellation.h"

namespace agent_graph::run {

// Shared by the run and the code that asks it to leave. Thread-safe.
class HandOver {
 public:
  explicit HandOver(runtime::Cancellation cancellation) : cancellation_(std::move(cancellation)) {}

  // Makes the run leave this worker before its next node.
  void Request() { requested_.store(true, std::memory_order_relaxed); }
  // The same, and work in progress that may be repeated is cancelled with kShutdown.
  void RequestNow();
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

  // While it exists, the run is in work that another attempt may repeat: a model call, or calls of
  // idempotent tools. `hand_over` may be null.
  class RepeatableWork {
   public:
    explicit RepeatableWork(HandOver* hand_over);
    ~RepeatableWork();
    RepeatableWork(const RepeatableWork&) = delete;
    RepeatableWork& operator=(const RepeatableWork&) = delete;

   private:
    HandOver* const hand_over_;
  };

 private:
  void BeginRepeatable();
  void EndRepeatable();

  const runtime::Cancellation cancellation_;
  std::atomic<bool> requested_{false};
  Mutex mutex_;
  bool now_ AG_GUARDED_BY(mutex_) = false;
  bool repeatable_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::run
