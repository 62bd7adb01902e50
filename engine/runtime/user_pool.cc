#include "runtime/user_pool.h"

#include <algorithm>
#include <utility>

#include "base/allocation_account.h"
#include "runtime/signal.h"
#include "runtime/thread.h"

namespace agent_graph::runtime {
namespace {

// The time that a function without a deadline has to return after its caller has left.
constexpr std::chrono::minutes kUnlimitedGrace{5};

struct Outcome {
  Status status;
};

Status ShuttingDown() {
  return Status(StatusCode::kUnavailable, "the worker is shutting down");
}

Status Call(const std::function<void()>& work, const std::string& name, uint64_t bytes_max) {
  const AllocationScope scope(bytes_max);
  try {
    work();
    return Status::Ok();
  } catch (...) {
    return Status(StatusCode::kGraph, name + ": " + CaughtUserFailure().text);
  }
}

}  // namespace

struct UserPool::Task {
  std::shared_ptr<std::function<void()>> work;
  std::string name;
  Deadline deadline;
  Promise<Outcome> outcome;
  Worker* worker = nullptr;  // guarded by the pool's mutex; set while it runs
};

struct UserPool::Worker {
  explicit Worker(UserPool& user_pool) : pool(user_pool) {}

  UserPool& pool;
  std::thread thread;
  std::shared_ptr<Task> task;  // guarded by the pool's mutex, like the rest
  int parked = 0;              // waits in progress; they may nest
  bool written_off = false;
  Deadline due;  // a written-off worker is lost if its function runs past this time and the grace
  bool exited = false;
};

namespace {
thread_local void* current_worker = nullptr;  // UserPool::Worker, which is private
}

UserPool::UserPool(Options options) : options_(std::move(options)) {}
UserPool::~UserPool() = default;

Status UserPool::Run(std::shared_ptr<std::function<void()>> work, const std::string& name,
                     const Cancellation& cancellation, Deadline deadline) {
  if (current_worker != nullptr) return Call(*work, name, options_.function_bytes_max);
  auto task = std::make_shared<Task>();
  task->work = std::move(work);
  task->name = name;
  task->deadline = deadline;
  {
    MutexLock lock(mutex_);
    if (stopping_) return ShuttingDown();
    queue_.push_back(task);
    StartWork();
    if (live_ == 0) {
      queue_.pop_back();
      return Status(StatusCode::kResourceExhausted, "no thread for user functions can be started");
    }
  }
  Result<Outcome> outcome = task->outcome.Wait(&cancellation, deadline);
  if (outcome.ok()) return std::move(outcome->status);
  GiveUp(*task);
  return outcome.status();
}

void UserPool::StartWork() {
  if (active_ >= options_.active_max) return;
  const size_t startable = std::min(queue_.size(), options_.active_max - active_);
  while (idle_ < startable && live_ < options_.threads_max) {
    const size_t before = live_;
    StartWorker();
    if (live_ == before) break;
  }
  for (size_t i = 0; i < startable; ++i) work_available_.NotifyOne();
}

void UserPool::StartWorker() {
  JoinExited();
  Worker& worker = workers_.emplace_back(*this);
  if (!StartThread(worker.thread, options_.thread_name, [this, &worker] {
         RunWorker(worker);
       }).ok()) {
    workers_.pop_back();
    return;
  }
  ++live_;
  ++idle_;
}

void UserPool::JoinExited() {
  workers_.remove_if([](Worker& worker) {
    if (worker.exited) worker.thread.join();
    return worker.exited;
  });
}

void UserPool::GiveUp(Task& task) {
  MutexLock lock(mutex_);
  if (Worker* const worker = task.worker; worker != nullptr) {
    worker->written_off = true;
    // The caller may have left before the deadline. Then nothing is wrong with the function yet.
    worker->due = task.deadline == kNoDeadline ? DeadlineAfter(kUnlimitedGrace) : task.deadline;
    if (worker->parked == 0) --active_;
    StartWork();
    return;
  }
  std::erase_if(queue_, [&](const std::shared_ptr<Task>& queued) { return queued.get() == &task; });
}

size_t UserPool::lost() const {
  if (!mutex_.TryLock()) return last_lost_;
  const Deadline since = MonotonicClock::now() - options_.lost_grace;
  const auto count = static_cast<size_t>(
      std::count_if(workers_.begin(), workers_.end(), [&](const Worker& worker) {
        return worker.written_off && !worker.exited && worker.due <= since;
      }));
  last_lost_ = count;
  mutex_.Unlock();
  return count;
}

// Destroyed after the thread-local objects of functions, which were made later. Their destructors
// may block, so the thread counts as one that runs until they have returned.
struct UserPool::ThreadEnd {
  ~ThreadEnd() { worker.pool.OnThreadEnd(worker); }

  Worker& worker;
};

void UserPool::RunWorker(Worker& worker) {
  thread_local const ThreadEnd end{worker};
  current_worker = &worker;
  options_.on_start();
  MutexLock lock(mutex_);
  while (TakeTask(worker)) {
    const std::shared_ptr<Task> task = worker.task;
    lock.Unlock();
    Outcome outcome{Call(*task->work, task->name, options_.function_bytes_max)};
    task->work.reset();  // release what the function owns before its end is reported
    lock.Lock();
    const bool stays = FinishTask(worker);
    lock.Unlock();
    task->outcome.Set(std::move(outcome));
    lock.Lock();
    if (!stays) break;
  }
  current_worker = nullptr;  // destructors of thread-local objects are not part of the pool's work
}

void UserPool::OnThreadEnd(Worker& worker) {
  MutexLock lock(mutex_);
  --live_;
  StartWork();           // functions may wait because there were too many threads
  worker.exited = true;  // from now on another thread may join this one
  worker_exited_.NotifyAll();
}

bool UserPool::TakeTask(Worker& worker) {
  while (!stopping_ && (queue_.empty() || active_ >= options_.active_max)) {
    work_available_.Wait(mutex_);
  }
  --idle_;
  if (stopping_) return false;
  ++active_;
  worker.task = std::move(queue_.front());
  queue_.pop_front();
  worker.task->worker = &worker;
  return true;
}

bool UserPool::FinishTask(Worker& worker) {
  worker.task->worker = nullptr;
  worker.task.reset();
  if (worker.written_off) return false;  // its replacement is running
  --active_;
  // There are enough idle threads for active_max functions. The others were needed while functions
  // were parked.
  if (stopping_ || (idle_ >= options_.active_max && queue_.empty())) return false;
  ++idle_;
  return true;
}

std::vector<std::string> UserPool::Stop(Deadline deadline) {
  MutexLock lock(mutex_);
  stopping_ = true;
  work_available_.NotifyAll();
  for (const std::shared_ptr<Task>& task : std::exchange(queue_, {})) {
    task->outcome.Set(Outcome{ShuttingDown()});
  }
  while (live_ != 0 && worker_exited_.WaitUntil(mutex_, deadline)) continue;
  std::vector<std::string> names;
  for (Worker& worker : workers_) {
    if (worker.exited) continue;
    names.push_back(worker.task != nullptr ? worker.task->name : "(leaving)");
    if (worker.thread.joinable()) worker.thread.detach();
  }
  std::list<Worker> exited;
  for (auto next = workers_.begin(); next != workers_.end();) {
    const auto worker = next++;
    if (worker->exited) exited.splice(exited.end(), workers_, worker);
  }
  lock.Unlock();
  for (Worker& worker : exited) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  return names;
}

void UserPool::Park(Worker& worker) {
  MutexLock lock(mutex_);
  if (worker.parked++ > 0 || worker.written_off) return;
  --active_;
  StartWork();
}

void UserPool::Unpark(Worker& worker) {
  MutexLock lock(mutex_);
  if (--worker.parked == 0 && !worker.written_off) ++active_;
}

UserPool::Parked::Parked() {
  auto* const worker = static_cast<Worker*>(current_worker);
  if (worker != nullptr) worker->pool.Park(*worker);
}

UserPool::Parked::~Parked() {
  auto* const worker = static_cast<Worker*>(current_worker);
  if (worker != nullptr) worker->pool.Unpark(*worker);
}

}  // namespace agent_graph::runtime
