#include "state/follow/followers.h"

#include <utility>

#include "state/runs.h"

namespace agent_graph::state {

uint64_t Followers::Begin(const std::string& thread_id) {
  MutexLock lock(mutex_);
  const auto [thread, is_new] = threads_.try_emplace(thread_id);
  if (is_new) {
    thread->second.version = next_version_++;
    ++threads_with_interest_;
  }
  ++thread->second.readers;
  return thread->second.version;
}

void Followers::End(const std::string& thread_id) {
  MutexLock lock(mutex_);
  --threads_.at(thread_id).readers;
  Forget(thread_id);
}

void Followers::Forget(const std::string& thread_id) {
  const auto thread = threads_.find(thread_id);
  if (thread->second.readers > 0 || !thread->second.parked.empty()) return;
  threads_.erase(thread);
  --threads_with_interest_;
}

Followers::Outcome Followers::Park(const std::string& thread_id, uint64_t version, Parked& parked) {
  MutexLock lock(mutex_);
  Thread& thread = threads_.at(thread_id);
  if (thread.version != version) return Outcome::kChanged;
  if (parked_ >= kFollowersMax || thread.parked.size() >= kFollowersOfThreadMax) {
    return Outcome::kFull;
  }
  thread.parked.push_back(std::move(parked));
  ++parked_;
  return Outcome::kParked;
}

std::vector<Followers::Parked> Followers::TakeChanged(const std::vector<std::string>& thread_ids) {
  std::vector<Parked> changed;
  MutexLock lock(mutex_);
  for (const std::string& thread_id : thread_ids) {
    const auto thread = threads_.find(thread_id);
    if (thread == threads_.end()) continue;
    thread->second.version = next_version_++;
    parked_ -= thread->second.parked.size();
    for (Parked& parked : thread->second.parked) changed.push_back(std::move(parked));
    thread->second.parked.clear();
    Forget(thread_id);
  }
  return changed;
}

std::vector<Followers::Parked> Followers::TakeOverdue(MonotonicClock::time_point now) {
  std::vector<Parked> overdue;
  MutexLock lock(mutex_);
  std::vector<std::string> emptied;
  for (auto& [thread_id, thread] : threads_) {
    const size_t before = thread.parked.size();
    std::erase_if(thread.parked, [&](Parked& parked) {
      if (parked.deadline > now) return false;
      overdue.push_back(std::move(parked));
      return true;
    });
    parked_ -= before - thread.parked.size();
    if (before > 0 && thread.parked.empty()) emptied.push_back(thread_id);
  }
  for (const std::string& thread_id : emptied) Forget(thread_id);
  return overdue;
}

std::vector<std::string> Followers::Threads() const {
  std::vector<std::string> threads;
  MutexLock lock(mutex_);
  for (const auto& [thread_id, thread] : threads_) {
    if (!thread.parked.empty()) threads.push_back(thread_id);
  }
  return threads;
}

}  // namespace agent_graph::state
