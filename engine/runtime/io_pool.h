// Threads for the engine's own blocking work: files and large JSON.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace agent_graph::runtime {

// Thread-safe. The queue is bounded by the fibers that wait for it.
class IoPool {
 public:
  IoPool(size_t threads_max, std::string thread_name, std::function<void()> on_start);
  ~IoPool();  // finishes what is queued
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  // Waits for `work`; an exception of it is thrown here. On a fiber the fiber waits; a thread that
  // is no fiber's runs it itself.
  void Run(const std::function<void()>& work);

 private:
  void Push(std::function<void()> job);
  void RunThread();

  const size_t threads_max_;
  const std::string thread_name_;
  const std::function<void()> on_start_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_, like the rest
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace agent_graph::runtime
