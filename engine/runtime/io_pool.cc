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

void IoPool::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads) thread.join();
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
  MutexLock lock(mutex_);
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
      lock.Unlock();
      job();
      return;
    }
  }
  lock.Unlock();
  changed_.NotifyOne();
}

void IoPool::RunThread() {
  on_start_();
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && jobs_.empty()) changed_.Wait(mutex_);
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    --idle_;
    lock.Unlock();
    job();
    job = nullptr;
    lock.Lock();
    ++idle_;
  }
}

}  // namespace agent_graph::runtime
