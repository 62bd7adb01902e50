#include "runtime/runtime.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/engine_thread.h"
#include "runtime/fiber.h"
#include "runtime/io_pool.h"
#include "runtime/signal.h"
#include "runtime/user_pool.h"

namespace agent_graph::runtime {
namespace {

// The runtime of the calling engine or pool thread.
thread_local Runtime* current_runtime = nullptr;

size_t AtLeastOne(int count) {
  return static_cast<size_t>(std::max(1, count));
}

}  // namespace

struct Runtime::Implementation {
  enum class Phase { kNew, kRunning, kStopped };

  struct Body {
    std::function<void()> function;
    EngineThread* thread;  // null: any
  };

  Implementation(RuntimeOptions runtime_options, std::function<void()> on_thread_start)
      : options(std::move(runtime_options)),
        on_start(std::move(on_thread_start)),
        user_pool(UserPool::Options{.active_max = AtLeastOne(options.user_threads_active),
                                    .threads_max = AtLeastOne(options.user_threads_max),
                                    .lost_grace = options.lost_grace,
                                    .function_bytes_max = options.function_bytes_max,
                                    .thread_name = options.name + "-user",
                                    .on_start = on_start}),
        auth_pool(UserPool::Options{.active_max = AtLeastOne(options.auth_threads_active),
                                    .threads_max = AtLeastOne(options.auth_threads_max),
                                    .lost_grace = options.lost_grace,
                                    .function_bytes_max = options.function_bytes_max,
                                    .thread_name = options.name + "-auth",
                                    .on_start = on_start}) {
    io_pool = std::make_unique<IoPool>(AtLeastOne(options.io_threads_max), options.name + "-io",
                                       on_start);
  }

  Status StartThreads();
  void StartWaiting();
  void FiberEnded();
  EngineThread* NextThread() AG_REQUIRES(mutex);
  Status StopFibers(Deadline deadline);

  const RuntimeOptions options;
  const std::function<void()> on_start;
  UserPool user_pool;
  UserPool auth_pool;
  std::unique_ptr<IoPool> io_pool;  // null once stopped

  mutable Mutex mutex;
  CondVar ended;  // no fiber is left
  Phase phase AG_GUARDED_BY(mutex) = Phase::kNew;
  size_t next_thread AG_GUARDED_BY(mutex) = 0;
  size_t live AG_GUARDED_BY(mutex) = 0;
  std::deque<Body> waiting AG_GUARDED_BY(mutex);
  // The engine threads were detached and run until the process ends.
  bool detached AG_GUARDED_BY(mutex) = false;

  // Start fills it before `phase` becomes kRunning; it stays as it is until Stop has joined them.
  std::vector<std::unique_ptr<EngineThread>> threads;
  bool clean = false;  // stopped, and nothing is left that could run; used by the stopping thread
};

Status Runtime::Implementation::StartThreads() {
  EngineThread::Events events;
  events.on_start = on_start;
  events.on_fiber_ended = [this] { FiberEnded(); };
  events.on_uncaught = options.on_uncaught;
  if (!events.on_uncaught) {
    events.on_uncaught = [](const std::string& line) {
      std::fprintf(stderr, "%s\n", line.c_str());
    };
  }
  for (int i = 0; i < std::max(1, options.threads); ++i) {
    try {
      threads.push_back(std::make_unique<EngineThread>(events));
    } catch (const std::exception& error) {
      return Status(StatusCode::kResourceExhausted, "cannot create an event loop")
          .WithDetail(error.what());
    }
    AG_RETURN_IF_ERROR(threads.back()->Start(options.name + "-" + std::to_string(i)));
  }
  return Status::Ok();
}

EngineThread* Runtime::Implementation::NextThread() {
  return threads[next_thread++ % threads.size()].get();
}

void Runtime::Implementation::StartWaiting() {
  for (;;) {
    Body body;
    {
      MutexLock lock(mutex);
      if (waiting.empty() || live >= options.fibers_max) return;
      body = std::move(waiting.front());
      waiting.pop_front();
      ++live;
      if (body.thread == nullptr) body.thread = NextThread();
    }
    body.thread->Spawn(std::move(body.function));
  }
}

void Runtime::Implementation::FiberEnded() {
  bool more;
  {
    MutexLock lock(mutex);
    --live;
    more = !waiting.empty();
    if (live == 0 && !more) ended.NotifyAll();
  }
  if (more) StartWaiting();
}

Status Runtime::Implementation::StopFibers(Deadline deadline) {
  MutexLock lock(mutex);
  bool in_time = true;
  while (!detached && phase == Phase::kRunning && in_time && (live != 0 || !waiting.empty())) {
    in_time = ended.WaitUntil(mutex, deadline);
  }
  const bool none_left = live == 0 && waiting.empty();
  if (detached || (phase == Phase::kRunning && !none_left)) {
    phase = Phase::kStopped;
    detached = true;
    for (auto& thread : threads) thread->Detach();
    return Status(StatusCode::kDeadlineExceeded,
                  "fibers still live: " + std::to_string(live + waiting.size()));
  }
  phase = Phase::kStopped;
  const std::deque<Body> never_run = std::exchange(waiting, {});
  lock.Unlock();
  for (auto& thread : threads) thread->Join();
  return Status::Ok();
}

Runtime::Runtime(RuntimeOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(options),
                                                       [this] { current_runtime = this; })) {}

namespace {

// Runtimes whose threads go on using them until the process ends.
struct LeftRunning {
  Mutex mutex;
  std::vector<std::unique_ptr<Runtime::Implementation>> runtimes AG_GUARDED_BY(mutex);
};

void LeaveRunning(std::unique_ptr<Runtime::Implementation> runtime) {
  static LeftRunning& left = *new LeftRunning;  // never destroyed
  MutexLock lock(left.mutex);
  left.runtimes.push_back(std::move(runtime));
}

}  // namespace

Runtime::~Runtime() {
  if (implementation_->clean || Stop(MonotonicClock::now()).ok()) return;
  LeaveRunning(std::move(implementation_));
}

Status Runtime::Start() {
  Status status = implementation_->StartThreads();
  if (!status.ok()) {
    for (auto& thread : implementation_->threads) thread->Join();
    implementation_->threads.clear();
    return status;
  }
  {
    MutexLock lock(implementation_->mutex);
    implementation_->phase = Implementation::Phase::kRunning;
  }
  implementation_->StartWaiting();
  return Status::Ok();
}

void Runtime::Spawn(std::function<void()> body, bool here) {
  EngineThread* thread = here && current_runtime == this ? EngineThread::Current() : nullptr;
  {
    MutexLock lock(implementation_->mutex);
    if (implementation_->phase == Implementation::Phase::kStopped) return;
    if (implementation_->phase == Implementation::Phase::kNew ||
        !implementation_->waiting.empty() ||
        implementation_->live >= implementation_->options.fibers_max) {
      implementation_->waiting.push_back({std::move(body), thread});
      return;
    }
    ++implementation_->live;
    if (thread == nullptr) thread = implementation_->NextThread();
  }
  thread->Spawn(std::move(body));
}

size_t Runtime::fibers() const {
  MutexLock lock(implementation_->mutex);
  return implementation_->live + implementation_->waiting.size();
}

Status Runtime::Stop(Deadline deadline) {
  Implementation& self = *implementation_;
  if (self.clean) return Status::Ok();
  Status status = self.StopFibers(deadline);
  std::string running;
  for (UserPool* pool : {&self.user_pool, &self.auth_pool}) {
    for (const std::string& name : pool->Stop(deadline)) {
      running += (running.empty() ? "" : ", ") + name;
    }
  }
  if (!running.empty()) {
    status = Status(StatusCode::kDeadlineExceeded,
                    "user functions still running: " + running +
                        (status.ok() ? std::string() : "; " + status.message()));
  }
  if (!status.ok()) return status;
  self.io_pool.reset();
  self.threads.clear();
  self.clean = true;
  return status;
}

void Runtime::RunOnIoPool(const std::function<void()>& work) {
  implementation_->io_pool->Run(work);
}

Status Runtime::RunUserFunction(std::shared_ptr<std::function<void()>> work,
                                const std::string& name, const Cancellation& cancellation,
                                Deadline deadline, UserShare share) {
  UserPool& pool =
      share == UserShare::kAuth ? implementation_->auth_pool : implementation_->user_pool;
  return pool.Run(std::move(work), name, cancellation, deadline);
}

uint64_t Runtime::function_bytes_max() const {
  return implementation_->options.function_bytes_max;
}

size_t Runtime::lost_threads() const {
  return implementation_->user_pool.lost() + implementation_->auth_pool.lost();
}

int Runtime::threads() const {
  return std::max(1, implementation_->options.threads);
}

boost::asio::io_context* Runtime::CurrentLoop() {
  EngineThread* const thread = EngineThread::Current();
  return thread != nullptr ? &thread->loop() : nullptr;
}

Runtime* Runtime::Current() {
  return current_runtime;
}

bool OnFiber() {
  return Fiber::Current() != nullptr;
}

void AtEndOfTurn(std::function<void()> work) {
  EngineThread* const thread = EngineThread::Current();
  if (thread == nullptr) return work();
  boost::asio::post(thread->loop(), std::move(work));
}

Status SleepUntil(Deadline end, const Cancellation* cancellation) {
  Signal never;
  const WakeReason reason = never.Wait(cancellation, end);
  return reason == WakeReason::kDeadline ? Status::Ok() : WakeStatus(reason, cancellation);
}

Status SleepFor(std::chrono::milliseconds duration, const Cancellation* cancellation) {
  return SleepUntil(DeadlineAfter(duration), cancellation);
}

}  // namespace agent_graph::runtime
