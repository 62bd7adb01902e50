#include "api/http/follower_limit.h"

namespace agent_graph::api {

FollowerLimit::Place FollowerLimit::Enter(const std::string& thread_id, size_t max) {
  const MutexLock lock(mutex_);
  if (count_ >= max) return {};
  if (!thread_id.empty()) {
    const auto found = of_thread_.find(thread_id);
    if (found != of_thread_.end() && found->second >= (max + 1) / 2) return {};
    ++of_thread_[thread_id];
  }
  ++count_;
  return Place(this, thread_id);
}

size_t FollowerLimit::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

void FollowerLimit::Leave(const std::string& thread_id) {
  const MutexLock lock(mutex_);
  --count_;
  const auto found = of_thread_.find(thread_id);
  if (found != of_thread_.end() && --found->second == 0) of_thread_.erase(found);
}

}  // namespace agent_graph::api
