// Mutex, MutexLock and CondVar: the standard types with annotations for clang's thread-safety
// analysis (libstdc++'s types have none).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/thread_annotations.h"

namespace agent_graph {

class AG_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() AG_ACQUIRE() { mutex_.lock(); }
  void Unlock() AG_RELEASE() { mutex_.unlock(); }
  bool TryLock() AG_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds the mutex for a scope. Unlock and Lock release and reacquire it within the scope.
class AG_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) AG_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() AG_RELEASE() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() AG_RELEASE() {
    mutex_.Unlock();
    held_ = false;
  }
  void Lock() AG_ACQUIRE() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// A condition variable. Callers wait in a loop over their condition, which the analysis can check:
//
//   MutexLock lock(mutex_);
//   while (queue_.empty()) not_empty_.Wait(mutex_);
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex& mutex) AG_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False at the deadline. With kNoDeadline it waits without limit.
  bool WaitUntil(Mutex& mutex, Deadline deadline) AG_REQUIRES(mutex) {
    if (deadline == kNoDeadline) {
      Wait(mutex);
      return true;
    }
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool notified = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace agent_graph
