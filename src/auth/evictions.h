// Reports deleted threads to a custom authorization backend.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "agent_graph/auth.h"
#include "base/mutex.h"
#include "runtime/runtime.h"

namespace agent_graph::auth {

// Hundreds of threads may be deleted at once and a backend may be slow. Therefore at most kAtOnce
// calls run at the same time and up to kWaitingMax threads wait in a queue without duplicates.
// Threads beyond that are not reported, and a warning is logged. This does not weaken isolation by
// owner, which the state service enforces itself. A backend must not rely on being called for
// threads that are not isolated (see AuthorizationBackend::Evict).
//
// Thread-safe. Add starts fibers and never waits for the backend.
class Evictions : public std::enable_shared_from_this<Evictions> {
 public:
  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kWaitingMax = 16'384;

  using Warn = std::function<void(const std::string&)>;

  Evictions(std::shared_ptr<AuthorizationBackend> backend, runtime::Runtime& runtime, Warn warn);

  // Adds a deleted thread to the queue. Ignored if it is in the queue already, or after Stop.
  void Add(const std::string& thread_id);
  // The worker is exiting and its backend with it: drops the threads that wait. Calls in progress
  // continue.
  void Stop();

 private:
  void Work();  // runs on a fiber until the queue is empty
  std::optional<std::string> Next();
  void Report(std::string thread_id);

  const std::shared_ptr<AuthorizationBackend> backend_;
  runtime::Runtime& runtime_;
  const Warn warn_;

  Mutex mutex_;
  std::deque<std::string> waiting_ AG_GUARDED_BY(mutex_);
  std::unordered_set<std::string_view> known_ AG_GUARDED_BY(mutex_);  // those that wait
  size_t at_work_ AG_GUARDED_BY(mutex_) = 0;
  size_t dropped_ AG_GUARDED_BY(mutex_) = 0;  // since nothing waited
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::auth
