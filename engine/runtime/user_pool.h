// Threads for user functions, which may block, wait or never come back.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {

// Thread-safe. A function starts while fewer than `active_max` run and a thread is to be had; else
// it waits in FIFO order, at most until its deadline. A function that waits in Signal::Wait is
// parked and does not count as running; it goes on as soon as it is woken, so those that are woken
// together may pass the bound for a moment.
class UserPool {
 public:
  struct Options {
    size_t active_max = 64;
    size_t threads_max = 512;  // parked and written-off threads included
    std::chrono::milliseconds write_off_grace{1000};
    uint64_t function_bytes_max = UINT64_MAX;  // held by one function by operator new
    std::string thread_name;
    std::function<void()> on_start;  // on each new thread
  };

  explicit UserPool(Options options);
  // Only after a Stop that left nothing running.
  ~UserPool();
  UserPool(const UserPool&) = delete;
  UserPool& operator=(const UserPool&) = delete;

  // See Runtime::RunUserFunction. On a thread of a pool the work runs there.
  Status Run(std::shared_ptr<std::function<void()>> work, const std::string& name,
             const Cancellation& cancellation, Deadline deadline);

  // Functions nobody waits for any more that have not come back within the grace since then. Never
  // waits, because nginx's thread asks: while the pool is busy it is the number of the last time.
  size_t written_off() const;

  // Refuses new functions, waits for the running ones and joins their threads. The names of the
  // functions still running at the deadline, whose threads are detached.
  std::vector<std::string> Stop(Deadline deadline);

  // While it exists, the calling thread does not count as running when it is one of a pool.
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

  void StartWork();         // mutex_ held
  void StartWorker();       // mutex_ held
  void JoinExited();        // mutex_ held
  void GiveUp(Task& task);  // its waiter is leaving
  void RunWorker(Worker& worker);
  bool TakeTask(Worker& worker, std::unique_lock<std::mutex>& lock);
  bool FinishTask(Worker& worker);  // false: the thread is not needed any more

  const Options options_;

  mutable std::mutex mutex_;
  mutable std::atomic<size_t> last_written_off_{0};
  std::condition_variable work_available_;
  std::condition_variable worker_exited_;
  std::deque<std::shared_ptr<Task>> queue_;  // guarded by mutex_, like the rest
  std::list<Worker> workers_;
  size_t live_ = 0;    // threads that have not exited
  size_t idle_ = 0;    // of them, without a task
  size_t active_ = 0;  // of them, running a task and neither parked nor written off
  bool stopping_ = false;
};

}  // namespace agent_graph::runtime
