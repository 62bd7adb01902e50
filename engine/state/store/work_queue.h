// FIFO work queue between the threads of an executor.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace agent_graph::state {

// Thread-safe. The gateway bounds the bytes of each client's items, and the clients their number.
template <typename Item>
class WorkQueue {
 public:
  void Push(Item item) {
    {
      MutexLock lock(mutex_);
      items_.push_back(std::move(item));
    }
    ready_.NotifyOne();
  }

  // Returns up to `count` items; empty at the deadline or after Stop.
  std::vector<Item> Take(size_t count, Deadline deadline) {
    MutexLock lock(mutex_);
    while (!stopped_ && items_.empty() && ready_.WaitUntil(mutex_, deadline)) continue;
    std::vector<Item> taken;
    while (!stopped_ && !items_.empty() && taken.size() < count) {
      taken.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    return taken;
  }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    ready_.NotifyAll();
  }
  bool stopped() {
    MutexLock lock(mutex_);
    return stopped_;
  }

 private:
  Mutex mutex_;
  CondVar ready_;
  std::deque<Item> items_ AG_GUARDED_BY(mutex_);
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::state
