// IoPool: threads for the engine's own blocking work (files, large JSON).
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace agent_graph::runtime {

// Thread-safe. Each caller waits for its job, so the number of fibers bounds the queue. The jobs
// behind one that waits for another host wait, too, so such jobs need a pool of their own.
class IoPool {
 public:
  IoPool(size_t threads_max, std::string thread_name, std::function<void()> on_start);
  ~IoPool() { Stop(); }  // completes the queued jobs
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  // Runs `work` on the pool and waits for it; rethrows its exception here. A fiber is suspended
  // meanwhile; a thread that is not a fiber's runs the work itself.
  void Run(const std::function<void()>& work);

 private:
  void Stop();
  void Push(std::function<void()> job);
  void RunThread();

  const size_t threads_max_;
  const std::string thread_name_;
  const std::function<void()> on_start_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> jobs_ AG_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ AG_GUARDED_BY(mutex_);
  size_t idle_ AG_GUARDED_BY(mutex_) = 0;
  bool stopping_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::runtime
