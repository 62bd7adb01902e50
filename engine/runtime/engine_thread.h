// One engine thread: its event loop, its fibers and their timers. Used only by Runtime.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/fiber.h"
#include "runtime/stack_pool.h"
#include "runtime/timer_queue.h"

namespace agent_graph::runtime {

// An exception that leaves a handler of the loop is reported through on_uncaught; the loop
// continues.
class EngineThread {
 public:
  struct Events {
    std::function<void()> on_start;        // called on the new thread
    std::function<void()> on_fiber_ended;  // called on this thread
    std::function<void(const std::string&)> on_uncaught;
  };

  explicit EngineThread(Events events);
  // Requires that Join has returned and no fiber is alive.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // The EngineThread that the caller runs on, or null.
  static EngineThread* Current();

  // Start, then Join (stops the loop and waits) or Detach (leaves it running); called by Runtime.
  Status Start(const std::string& name);
  void Join();
  void Detach();

  // From any thread.
  void Spawn(std::function<void()> body);
  // From any thread, exactly once per suspension. The loop resumes the fiber later, never this
  // call.
  void Ready(Fiber* fiber);

  // From this thread only.
  void AddTimer(Timer& timer);
  void RemoveTimer(Timer& timer);

  boost::asio::io_context& loop() { return loop_; }

 private:
  void Run();
  void RunReady();
  void RunReadyFromOutside();
  void Resume(Fiber* fiber);
  void RunBody(Fiber* fiber) const;
  void ArmAlarm();
  void RunTimers();

  const Events events_;
  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running_;
  std::thread thread_;

  // Used by this thread only.
  StackPool stacks_;
  FiberQueue ready_;
  bool run_ready_posted_ = false;
  TimerQueue timers_;
  boost::asio::steady_timer alarm_;
  Deadline alarm_at_ = kNoDeadline;

  Mutex outside_mutex_;
  FiberQueue ready_from_outside_ AG_GUARDED_BY(outside_mutex_);
  std::atomic<int> outside_calls_{0};  // calls of Ready in progress on other threads
};

}  // namespace agent_graph::runtime
