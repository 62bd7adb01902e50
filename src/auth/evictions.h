// Tells a custom authorization backend which threads were deleted.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "agent_graph/auth.h"
#include "runtime/runtime.h"

namespace agent_graph::auth {

// Threads may be deleted by the hundred, and a backend may be slow: a few calls are at work at
// once, the others wait, each thread once. What is more than may wait is not told and the log says
// so. That opens nothing that is limited to its owner, which the state service sees to itself; what
// a backend remembers of threads that are not, it has to check (see AuthorizationBackend::Evict).
// Thread-safe.
class Evictions : public std::enable_shared_from_this<Evictions> {
 public:
  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kWaitingMax = 16'384;

  using Warn = std::function<void(const std::string&)>;

  Evictions(std::shared_ptr<AuthorizationBackend> backend, runtime::Runtime& runtime, Warn warn);

  void Add(const std::string& thread_id);
  // The worker leaves, and what its backend remembers with it: nobody waits for what is not at
  // work.
  void Stop();

 private:
  void Work();  // on a fiber, until nothing waits
  std::optional<std::string> Next();
  void Tell(std::string thread_id);

  const std::shared_ptr<AuthorizationBackend> backend_;
  runtime::Runtime& runtime_;
  const Warn warn_;

  std::mutex mutex_;
  std::deque<std::string> waiting_;             // guarded by mutex_, like the rest
  std::unordered_set<std::string_view> known_;  // those that wait
  size_t at_work_ = 0;
  size_t dropped_ = 0;  // since nothing waited
  bool stopped_ = false;
};

}  // namespace agent_graph::auth
