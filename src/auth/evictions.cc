#include "auth/evictions.h"

#include <utility>

#include "auth/user_code.h"

namespace agent_graph::auth {

Evictions::Evictions(std::shared_ptr<AuthorizationBackend> backend, runtime::Runtime& runtime,
                     Warn warn)
    : backend_(std::move(backend)), runtime_(runtime), warn_(std::move(warn)) {}

void Evictions::Add(const std::string& thread_id) {
  bool full = false;
  {
    MutexLock lock(mutex_);
    if (stopped_ || known_.contains(thread_id)) return;
    full = waiting_.size() == kWaitingMax;
    if (full && dropped_++ > 0) return;
    if (!full) {
      known_.insert(waiting_.emplace_back(thread_id));
      if (at_work_ == kAtOnce) return;
      ++at_work_;
    }
  }
  if (full) {
    return warn_("the authorization backend is too slow: more than " + std::to_string(kWaitingMax) +
                 " deleted threads wait for its evict; further ones are not reported to it");
  }
  runtime_.Spawn([self = shared_from_this()] { self->Work(); }, /*here=*/true);
}

void Evictions::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  known_.clear();
  waiting_.clear();
}

void Evictions::Work() {
  while (std::optional<std::string> thread_id = Next()) Report(*std::move(thread_id));
}

std::optional<std::string> Evictions::Next() {
  size_t dropped = 0;
  {
    MutexLock lock(mutex_);
    if (!waiting_.empty()) {
      known_.erase(waiting_.front());
      std::string thread_id = std::move(waiting_.front());
      waiting_.pop_front();
      return thread_id;
    }
    --at_work_;
    dropped = std::exchange(dropped_, 0);
  }
  if (dropped > 0) {
    warn_(std::to_string(dropped) +
          " deleted threads were not reported to the authorization backend");
  }
  return std::nullopt;
}

void Evictions::Report(std::string thread_id) {
  auto work = std::make_shared<std::function<void()>>(
      [backend = backend_, thread_id = std::move(thread_id)] { backend->Evict(thread_id); });
  // Uses the pool's share for runs, because no request waits for this call, and hundreds of deleted
  // threads must not delay authentication.
  Status status = runtime_.RunUserFunction(std::move(work), "evict of the authorization backend",
                                           runtime::Cancellation(), DeadlineAfter(kBackendTimeout),
                                           runtime::UserShare::kRuns);
  if (!status.ok()) warn_("evict of the authorization backend failed: " + status.ToString());
}

}  // namespace agent_graph::auth
