#include "runtime/engine_thread.h"

#include <cxxabi.h>

#include <boost/asio/post.hpp>
#include <cstring>
#include <exception>
#include <utility>

#include "base/allocation_account.h"
#include "runtime/thread.h"
#include "runtime/yield.h"

namespace agent_graph::runtime {
namespace {

// Only this thread runs the loop; posting from other threads is still safe.
constexpr int kLoopConcurrency = 1;

// Limit of rounds in which fibers may wake each other before sockets and timers are served.
constexpr int kRoundsMax = 16;

thread_local EngineThread* current_thread = nullptr;
thread_local Fiber* current_fiber = nullptr;

// The per-thread record of caught exceptions in the C++ runtime (Itanium C++ ABI 2.2.2).
struct ExceptionGlobals {
  void* caught_exceptions;
  unsigned int uncaught_exceptions;
};

}  // namespace

Fiber* Fiber::Current() {
  return current_fiber;
}

void Suspend() {
  Fiber* const fiber = current_fiber;
  // Otherwise a fiber that waits inside a catch block would exchange its exception with the next
  // fiber that runs on this thread.
  void* const globals = abi::__cxa_get_globals();
  ExceptionGlobals saved;
  std::memcpy(&saved, globals, sizeof saved);
  std::memset(globals, 0, sizeof saved);
  // The allocation account belongs to the fiber, too.
  AllocationAccount* const account = std::exchange(AllocationAccount::Current(), nullptr);
  fiber->scheduler = std::move(fiber->scheduler).resume();
  AllocationAccount::Current() = account;
  std::memcpy(globals, &saved, sizeof saved);
}

void Yield() {
  Fiber* const fiber = current_fiber;
  if (fiber == nullptr) return;
  // Ready must be posted: if called here, the thread would resume the fiber before it serves a
  // socket.
  boost::asio::post(fiber->thread.loop(), [fiber] { fiber->thread.Ready(fiber); });
  Suspend();
}

EngineThread::EngineThread(Events events)
    : events_(std::move(events)),
      loop_(kLoopConcurrency),
      keep_running_(loop_.get_executor()),
      alarm_(loop_) {}

EngineThread::~EngineThread() {
  // The last call of Ready may still be returning after the fiber that it resumed has ended.
  while (outside_calls_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

EngineThread* EngineThread::Current() {
  return current_thread;
}

Status EngineThread::Start(const std::string& name) {
  return StartThread(thread_, name, [this] { Run(); });
}

void EngineThread::Join() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
}

void EngineThread::Detach() {
  if (thread_.joinable()) thread_.detach();
}

void EngineThread::Run() {
  current_thread = this;
  events_.on_start();
  for (;;) {
    try {
      loop_.run();
      return;
    } catch (const std::exception& error) {
      events_.on_uncaught(std::string("exception in an event loop handler: ") + error.what());
    } catch (...) {
      events_.on_uncaught("unknown exception in an event loop handler");
    }
  }
}

void EngineThread::Spawn(std::function<void()> body) {
  Ready(new Fiber(*this, std::move(body)));
}

void EngineThread::Ready(Fiber* fiber) {
  if (current_thread == this) {
    ready_.Push(fiber);
    if (run_ready_posted_) return;
    run_ready_posted_ = true;
    boost::asio::post(loop_, [this] { RunReady(); });
    return;
  }
  outside_calls_.fetch_add(1, std::memory_order_relaxed);
  bool was_empty;
  {
    MutexLock lock(outside_mutex_);
    was_empty = ready_from_outside_.empty();
    ready_from_outside_.Push(fiber);
  }
  if (was_empty) boost::asio::post(loop_, [this] { RunReadyFromOutside(); });
  outside_calls_.fetch_sub(1, std::memory_order_release);
}

void EngineThread::RunReadyFromOutside() {
  FiberQueue batch;
  {
    MutexLock lock(outside_mutex_);
    batch = ready_from_outside_.TakeAll();
  }
  while (!batch.empty()) Resume(batch.Pop());
}

void EngineThread::RunReady() {
  for (int round = 0; round < kRoundsMax && !ready_.empty(); ++round) {
    FiberQueue batch = ready_.TakeAll();
    while (!batch.empty()) Resume(batch.Pop());
  }
  run_ready_posted_ = !ready_.empty();
  if (run_ready_posted_) boost::asio::post(loop_, [this] { RunReady(); });
}

void EngineThread::Resume(Fiber* fiber) {
  if (!fiber->started) {
    try {
      fiber->context = boost::context::fiber(std::allocator_arg,
                                             StackPool::Allocator(stacks_, fiber->stack_begin),
                                             [this, fiber](boost::context::fiber&& scheduler) {
                                               fiber->scheduler = std::move(scheduler);
                                               RunBody(fiber);
                                               return std::move(fiber->scheduler);
                                             });
      fiber->started = true;
    } catch (const std::exception& error) {
      events_.on_uncaught(std::string("no stack for a fiber: ") + error.what());
    }
  }
  if (fiber->started) {
    current_fiber = fiber;
    fiber->context = std::move(fiber->context).resume();
    current_fiber = nullptr;
    if (fiber->context) return;
  }
  delete fiber;
  events_.on_fiber_ended();
}

void EngineThread::RunBody(Fiber* fiber) const {
  try {
    fiber->body();
  } catch (const std::exception& error) {
    events_.on_uncaught(std::string("uncaught exception: ") + error.what());
  } catch (...) {
    events_.on_uncaught("uncaught exception of unknown type");
  }
  fiber->body = nullptr;  // destroys what the body owns, while still on the fiber
}

void EngineThread::AddTimer(Timer& timer) {
  timers_.insert(timer);
  ArmAlarm();
}

// The alarm is not moved: an alarm without a due timer costs less than moving it twice for every
// wait that ends in time.
void EngineThread::RemoveTimer(Timer& timer) {
  if (timer.is_linked()) timers_.erase(timers_.iterator_to(timer));
}

void EngineThread::ArmAlarm() {
  if (timers_.empty() || timers_.begin()->deadline >= alarm_at_) return;
  alarm_at_ = timers_.begin()->deadline;
  alarm_.expires_at(alarm_at_);
  alarm_.async_wait([this](const boost::system::error_code& error) {
    if (!error) RunTimers();
  });
}

void EngineThread::RunTimers() {
  alarm_at_ = kNoDeadline;
  const Deadline now = MonotonicClock::now();
  while (!timers_.empty() && timers_.begin()->deadline <= now) {
    Timer& timer = *timers_.begin();
    timers_.erase(timers_.begin());
    timer.callback(timer.context);
  }
  ArmAlarm();
}

}  // namespace agent_graph::runtime
