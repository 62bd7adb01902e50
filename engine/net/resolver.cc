#include "net/resolver.h"

#include <deque>
#include <exception>
#include <map>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "runtime/signal.h"
#include "runtime/thread.h"

namespace agent_graph::net {
namespace {

using Name = std::pair<std::string, std::string>;  // host and port
using Waiter = std::shared_ptr<runtime::Promise<Lookup>>;

struct PendingName {
  std::vector<Waiter> waiters;
  bool has_begun = false;
};

}  // namespace

struct Resolver::Shared : std::enable_shared_from_this<Shared> {
  explicit Shared(LookUp function) : look_up(std::move(function)) {}

  // Adds a caller that waits for `name`.
  Status Add(const Name& name, const Waiter& waiter);
  // Removes a caller that stops waiting. The last one also removes a name that is still queued.
  void Remove(const Name& name, const Waiter& waiter);
  void RunThread();
  void Answer(const Name& name);

  const LookUp look_up;
  mutable Mutex mutex;
  std::map<Name, PendingName> pending AG_GUARDED_BY(mutex);
  std::deque<Name> queue AG_GUARDED_BY(mutex);  // the names that no thread has begun
  size_t threads AG_GUARDED_BY(mutex) = 0;
};

Status Resolver::Shared::Add(const Name& name, const Waiter& waiter) {
  MutexLock lock(mutex);
  if (const auto found = pending.find(name); found != pending.end()) {
    found->second.waiters.push_back(waiter);
    return Status::Ok();
  }
  if (queue.size() >= kQueuedMax) {
    return Status(StatusCode::kUnavailable, "too many names of hosts are being looked up");
  }
  if (threads < kThreadsMax) {
    std::thread thread;
    const Status started = runtime::StartThread(thread, "agent-resolver",
                                                [self = shared_from_this()] { self->RunThread(); });
    if (started.ok()) {
      thread.detach();  // a process need not wait for a name server before it exits
      ++threads;
    } else if (threads == 0) {
      return started;
    }
  }
  queue.push_back(name);
  pending[name].waiters.push_back(waiter);
  return Status::Ok();
}

void Resolver::Shared::Remove(const Name& name, const Waiter& waiter) {
  MutexLock lock(mutex);
  const auto found = pending.find(name);
  if (found == pending.end()) return;
  std::erase(found->second.waiters, waiter);
  if (!found->second.waiters.empty() || found->second.has_begun) return;
  std::erase(queue, name);
  pending.erase(found);
}

void Resolver::Shared::RunThread() {
  MutexLock lock(mutex);
  while (!queue.empty()) {
    const Name name = std::move(queue.front());
    queue.pop_front();
    pending[name].has_begun = true;
    lock.Unlock();
    Answer(name);
    lock.Lock();
  }
  --threads;
}

void Resolver::Shared::Answer(const Name& name) {
  Lookup lookup;
  try {
    lookup = look_up(name.first, name.second);
  } catch (const std::exception&) {
    lookup.failure = "no memory";
  }
  std::vector<Waiter> waiters;
  {
    MutexLock lock(mutex);
    const auto found = pending.find(name);
    waiters = std::move(found->second.waiters);
    pending.erase(found);
  }
  for (const Waiter& waiter : waiters) {
    try {
      waiter->Set(lookup);
    } catch (const std::exception&) {
      continue;  // there is no memory for a copy; the caller waits until its deadline
    }
  }
}

Resolver::Resolver(LookUp look_up) : shared_(std::make_shared<Shared>(std::move(look_up))) {}
Resolver::~Resolver() = default;

Result<std::vector<StreamEndpoint>> Resolver::Resolve(const std::string& host,
                                                      const std::string& port,
                                                      const runtime::Cancellation* cancellation,
                                                      Deadline deadline) {
  const Name name(host, port);
  const auto waiter = std::make_shared<runtime::Promise<Lookup>>();
  AG_RETURN_IF_ERROR(shared_->Add(name, waiter));
  Result<Lookup> lookup = waiter->Wait(cancellation, deadline);
  if (!lookup.ok()) {
    shared_->Remove(name, waiter);
    return lookup.status();
  }
  if (lookup->endpoints.empty()) {
    return Status(StatusCode::kNotFound, "the host's name could not be resolved")
        .WithDetail(lookup->failure);
  }
  return std::move(lookup->endpoints);
}

size_t Resolver::pending() const {
  MutexLock lock(shared_->mutex);
  return shared_->pending.size();
}

}  // namespace agent_graph::net
