#include "runtime/io_pool.h"

#include <exception>
#include <utility>

#include "runtime/fiber.h"
#include "runtime/signal.h"
#include "runtime/thread.h"

namespace agent_graph::runtime {

IoPool::IoPool(size_t threads_max, std::string thread_name, std::function<void()> on_start)
    : threads_max_(threads_max),
      thread_name_(std::move(thread_name)),
      on_start_(std::move(on_start)) {}

IoPool::~IoPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void IoPool::Run(const std::function<void()>& work) {
  if (Fiber::Current() == nullptr) {
    work();
    return;
  }
  std::exception_ptr failure;
  Signal done;
  Push([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    done.Notify();
  });
  done.Wait(nullptr, kNoDeadline);
  if (failure) std::rethrow_exception(failure);
}

void IoPool::Push(std::function<void()> job) {
  std::unique_lock lock(mutex_);
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < threads_max_) {
    std::thread thread;
    if (StartThread(thread, thread_name_, [this] { RunThread(); }).ok()) {
      threads_.push_back(std::move(thread));
      ++idle_;
    } else if (threads_.empty()) {
      // The pool has no thread and none could be started: run the job here, so that it runs at all.
      job = std::move(jobs_.back());
      jobs_.pop_back();
      lock.unlock();
      job();
      return;
    }
  }
  lock.unlock();
  changed_.notify_one();
}

void IoPool::RunThread() {
  on_start_();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    --idle_;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    ++idle_;
  }
}

}  // namespace agent_graph::runtime
