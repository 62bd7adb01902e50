// The hosts whose clients read runs of this host.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace agent_graph::state {

// Thread-safe. No call blocks.
class RemoteReaders {
 public:
  // Pairs of a thread and a host.
  static constexpr size_t kReadersMax = 20'000;

  // Notes that the host reads runs of the thread until `until`. Returns false if there are too many
  // readers.
  bool Add(const std::string& thread_id, const std::string& host, Deadline until);
  // The hosts that read runs of the thread.
  std::vector<std::string> Of(const std::string& thread_id) const;
  // Forgets hosts that do not read any more.
  void Expire(MonotonicClock::time_point now);
  bool empty() const { return count_ == 0; }

 private:
  std::atomic<size_t> count_{0};
  mutable Mutex mutex_;
  // For each thread, the end of each host's interest.
  std::unordered_map<std::string, std::map<std::string, Deadline>> threads_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::state
