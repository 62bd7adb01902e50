#include "state/follow/remote_readers.h"

namespace agent_graph::state {

bool RemoteReaders::Add(const std::string& thread_id, const std::string& host, Deadline until) {
  MutexLock lock(mutex_);
  const auto known = threads_.find(thread_id);
  const bool is_new = known == threads_.end() || !known->second.contains(host);
  if (is_new && count_ >= kReadersMax) return false;
  if (is_new) ++count_;
  threads_[thread_id][host] = until;
  return true;
}

std::vector<std::string> RemoteReaders::Of(const std::string& thread_id) const {
  std::vector<std::string> hosts;
  MutexLock lock(mutex_);
  const auto thread = threads_.find(thread_id);
  if (thread == threads_.end()) return hosts;
  for (const auto& [host, until] : thread->second) hosts.push_back(host);
  return hosts;
}

void RemoteReaders::Expire(MonotonicClock::time_point now) {
  MutexLock lock(mutex_);
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    count_ -= std::erase_if(thread->second, [&](const auto& host) { return host.second <= now; });
    thread = thread->second.empty() ? threads_.erase(thread) : std::next(thread);
  }
}

}  // namespace agent_graph::state
