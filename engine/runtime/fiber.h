// Fiber, and the only function that suspends one.
#pragma once

#include <boost/context/fiber.hpp>
#include <functional>
#include <utility>

namespace agent_graph::runtime {

class EngineThread;

// Owned by its engine thread from Spawn until it ends.
struct Fiber {
  Fiber(EngineThread& engine_thread, std::function<void()> function)
      : thread(engine_thread), body(std::move(function)) {}

  // The calling fiber; null on a thread without one.
  static Fiber* Current();

  EngineThread& thread;
  std::function<void()> body;
  // Suspended state of the fiber; empty before it starts and while it runs.
  boost::context::fiber context;
  boost::context::fiber scheduler;  // suspended state of its thread while the fiber runs
  char* stack_begin = nullptr;      // its stack's lowest address; set when it starts
  Fiber* next = nullptr;            // for FiberQueue
  bool started = false;
};

// Suspends the calling fiber until its thread resumes it (EngineThread::Ready). Every suspension in
// the engine goes through this function.
void Suspend();

// A FIFO queue, linked through Fiber::next. Not thread-safe.
class FiberQueue {
 public:
  bool empty() const { return head_ == nullptr; }

  void Push(Fiber* fiber) {
    fiber->next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = fiber;
    tail_ = fiber;
  }

  Fiber* Pop() {
    Fiber* fiber = head_;
    head_ = fiber->next;
    if (head_ == nullptr) tail_ = nullptr;
    return fiber;
  }

  FiberQueue TakeAll() { return std::exchange(*this, FiberQueue()); }

 private:
  Fiber* head_ = nullptr;
  Fiber* tail_ = nullptr;
};

}  // namespace agent_graph::runtime
