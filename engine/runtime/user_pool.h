// UserPool: threads for user functions, which may block, wait or never return.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {

// Thread-safe. A function starts if fewer than `active_max` are running and a thread is available;
// otherwise it is queued (FIFO), at most until its deadline. A function that waits in Signal::Wait
// is parked and does not count as running. It continues as soon as it wakes up, so several that
// wake up together may exceed the limit for a moment.
class UserPool {
 public:
  struct Options {
    size_t active_max = 64;
    size_t threads_max = 512;  // including parked and written-off threads
    std::chrono::milliseconds lost_grace{1000};
    uint64_t function_bytes_max = UINT64_MAX;  // bytes that one function may hold by operator new
    std::string thread_name;
    std::function<void()> on_start;  // called on each new thread
  };

  explicit UserPool(Options options);
  // Only after a Stop that left no function running.
  ~UserPool();
  UserPool(const UserPool&) = delete;
  UserPool& operator=(const UserPool&) = delete;

  // See Runtime::RunUserFunction. On a thread of a pool the work runs on that thread.
  Status Run(std::shared_ptr<std::function<void()>> work, const std::string& name,
             const Cancellation& cancellation, Deadline deadline);

  // Number of functions that are still running, although their deadline and the grace time have
  // passed. A function that was given up before its deadline, because its caller was cancelled,
  // does not count until then. Called from nginx's thread, so it never waits: while the pool is
  // locked it returns the previous number.
  size_t lost() const;

  // Refuses new functions, waits for the running ones and joins their threads. Returns the names of
  // the functions that are still running at the deadline; their threads are detached.
  std::vector<std::string> Stop(Deadline deadline);

  // During its scope a calling pool thread does not count as running. No effect on other threads.
  class Parked {
   public:
    Parked();
    ~Parked();
    Parked(const Parked&) = delete;
    Parked& operator=(const Parked&) = delete;
  };

 private:
  struct Task;
  struct Worker;
  struct ThreadEnd;

  void Park(Worker& worker);
  void Unpark(Worker& worker);
  void StartWork() AG_REQUIRES(mutex_);
  void StartWorker() AG_REQUIRES(mutex_);
  void JoinExited() AG_REQUIRES(mutex_);
  void GiveUp(Task& task);  // its waiter is leaving
  void RunWorker(Worker& worker);
  void OnThreadEnd(Worker& worker);
  bool TakeTask(Worker& worker) AG_REQUIRES(mutex_);
  // False: the thread is not needed any more.
  bool FinishTask(Worker& worker) AG_REQUIRES(mutex_);

  const Options options_;

  mutable Mutex mutex_;
  mutable std::atomic<size_t> last_lost_{0};
  CondVar work_available_;
  CondVar worker_exited_;
  std::deque<std::shared_ptr<Task>> queue_ AG_GUARDED_BY(mutex_);
  std::list<Worker> workers_ AG_GUARDED_BY(mutex_);
  size_t live_ AG_GUARDED_BY(mutex_) = 0;  // threads that have not exited
  size_t idle_ AG_GUARDED_BY(mutex_) = 0;  // live threads without a task
  // Live threads that run a task and are neither parked nor written off.
  size_t active_ AG_GUARDED_BY(mutex_) = 0;
  bool stopping_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::runtime
