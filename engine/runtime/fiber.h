// A fiber and the one function that suspends it.
#pragma once

#include <boost/context/fiber.hpp>
#include <functional>
#include <utility>

namespace agent_graph::runtime {

class EngineThread;

// Owned by its engine thread from Spawn to its end.
struct Fiber {
  Fiber(EngineThread& engine_thread, std::function<void()> function)
      : thread(engine_thread), body(std::move(function)) {}

  // The calling fiber, null outside.
  static Fiber* Current();

  EngineThread& thread;
  std::function<void()> body;
  boost::context::fiber
      context;  // where the fiber stands; empty before it starts and while it runs
  boost::context::fiber scheduler;  // where its thread stands while the fiber runs
  Fiber* next = nullptr;            // in a FiberQueue
  bool started = false;
};

// Leaves the calling fiber until its thread resumes it (EngineThread::Ready). Every suspension of
// the engine goes through here.
void Suspend();

// First in, first out, linked through Fiber::next.
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
