#include "state/gateway/role.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "runtime/thread.h"
#include "state/gateway/refusing.h"

namespace agent_graph::state {
namespace {

// Poll intervals of a waiting candidate. When it is connected, it notices the end of the server by
// its connection; the lock may be released a moment later. A server that is still opening its
// database has no socket yet.
constexpr int kConnectedPollMs = 200;
constexpr int kUnconnectedPollMs = 5;
constexpr std::chrono::milliseconds kRetryMin{5000};
constexpr std::chrono::milliseconds kRetryMax{30000};
constexpr std::chrono::milliseconds kStepDownPause{500};
constexpr std::chrono::milliseconds kCheckInterval{1000};

// Asks the current server to hand over if our generation is newer.
FileDescriptor AskToStepDown(const StateDirectory& directory, uint64_t generation) {
  Result<FileDescriptor> server = directory.Connect();
  if (!server.ok()) return {};
  const std::string frame = wire::MakeFrame(wire::FrameType::kStepDown, wire::StepDown{generation});
  if (send(server->get(), frame.data(), frame.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(frame.size())) {
    return {};
  }
  return std::move(*server);
}

bool StillConnected(int socket) {
  char byte;
  const ssize_t received = recv(socket, &byte, 1, MSG_DONTWAIT);  // NOLINT: does not block
  return received > 0 || (received < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

Role::Role(StateOptions options, StateDirectory directory, std::unique_ptr<Storage> storage)
    : options_(std::move(options)),
      generation_(options_.generation == StateOptions::kNewest
                      ? directory.NextNumber(static_cast<uint64_t>(UnixMicros()))
                      : options_.generation),
      directory_(std::move(directory)),
      storage_(std::move(storage)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Role::~Role() {
  Role::Finish(MonotonicClock::now());
}

Status Role::Start() {
  if (!wake_) return Status(StatusCode::kUnavailable, "the state server cannot create an eventfd");
  return runtime::StartThread(thread_, "state-server", [this] { Run(); });
}

void Role::Finish(Deadline deadline) {
  {
    MutexLock lock(mutex_);
    finish_deadline_ = finishing_ ? std::min(finish_deadline_, deadline) : deadline;
    finishing_ = true;
  }
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_.get(), &one, sizeof one);
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

bool Role::WaitUntilServing(Deadline deadline) {
  MutexLock lock(mutex_);
  while (!serving_ && !ended_ && changed_.WaitUntil(mutex_, deadline)) continue;
  return serving_;
}

bool Role::LeavingLocked() const {
  if (stepping_down_) return true;
  return finishing_ && (!serving_ || clients_ == 0 || MonotonicClock::now() >= finish_deadline_);
}

void Role::Run() {
  while (WaitForLock()) {
    LeadUntilLeaving();
    lock_.Reset();
    {
      MutexLock lock(mutex_);
      stepping_down_ = false;
    }
    // The candidate that asked for the role gets it first; then this one waits as standby again.
    Pause(kStepDownPause);
  }
  MutexLock lock(mutex_);
  AG_CHECK(!serving_, "a role ends after it has served");
  ended_ = true;
  changed_.NotifyAll();
}

void Role::LeadUntilLeaving() {
  std::string reported;
  std::chrono::milliseconds retry = kRetryMin;
  for (;;) {
    Status status = Lead();
    {
      MutexLock lock(mutex_);
      if (LeavingLocked()) return;
    }
    if (status.ok()) {
      reported.clear();
      retry = kRetryMin;
      continue;
    }
    // A reason that lasts, such as a missing table, is logged once.
    const std::string reason = NotAvailable(directory_.path(), "", status);
    if (std::exchange(reported, reason) != reason) {
      Log(LogLevel::kAlert, reason);
      retry = kRetryMin;
    }
    ServeFailure(retry);
    retry = std::min(retry * 2, kRetryMax);
    MutexLock lock(mutex_);
    if (LeavingLocked()) return;
  }
}

bool Role::WaitForLock() {
  FileDescriptor server;
  bool complained = false;
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (finishing_) return false;
    }
    Result<FileDescriptor> lock = directory_.TryLock();
    if (lock.ok()) {
      lock_ = std::move(*lock);
      return true;
    }
    if (lock.status().code() != StatusCode::kBusy && !std::exchange(complained, true)) {
      Log(LogLevel::kAlert, lock.status().ToString());
    }
    if (!server) server = AskToStepDown(directory_, generation_);
    pollfd events[2] = {{wake_.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
    poll(events, server ? 2 : 1, server ? kConnectedPollMs : kUnconnectedPollMs);
    if (server && events[1].revents != 0 && !StillConnected(server.get())) server.Reset();
  }
}

Status Role::Lead() {
  AG_CHECK(lock_, "only the holder of the lock opens the stored data");
  Storage::OpenOptions open;
  open.wait = [this](std::chrono::milliseconds duration) { return Pause(duration); };
  open.on_failed = [this] {
    MutexLock lock(mutex_);
    check_now_ = true;
    changed_.NotifyAll();
  };
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, storage_->Open(std::move(open)));
  const uint64_t epoch = executor->epoch();
  AG_ASSIGN_OR_RETURN(FileDescriptor listener, directory_.Listen(epoch));
  {
    MutexLock lock(mutex_);
    clients_ = 0;
    check_now_ = false;
  }
  AG_RETURN_IF_ERROR(executor->Start());
  SessionEvents events;
  events.on_step_down = [this](uint64_t generation) { OnStepDown(generation); };
  events.on_clients_changed = [this](size_t clients) {
    MutexLock lock(mutex_);
    clients_ = clients;
    changed_.NotifyAll();
  };
  Session session(*executor, std::move(events));
  AG_RETURN_IF_ERROR(session.Start(std::move(listener)));
  Log(LogLevel::kNotice,
      "serves the state of " + directory_.path() + ", epoch " + std::to_string(epoch));
  MutexLock lock(mutex_);
  AG_CHECK(!serving_ && !ended_, "a role serves once at a time");
  serving_ = true;
  changed_.NotifyAll();
  Result<Executor::Condition> condition = Executor::Condition::kServing;
  while (condition.ok() && *condition == Executor::Condition::kServing && !LeavingLocked()) {
    const Deadline check = DeadlineAfter(kCheckInterval);
    if (!check_now_) {
      changed_.WaitUntil(mutex_, finishing_ ? std::min(finish_deadline_, check) : check);
    }
    check_now_ = false;
    lock.Unlock();
    condition = executor->Tend();
    if (condition.ok()) KeepSocket(epoch, session);
    lock.Lock();
  }
  const auto farewell = stepping_down_ ? Session::Farewell::kGoAway : Session::Farewell::kNone;
  // True if no client uses the state any more and no candidate has asked for the role.
  const bool ends = finishing_ && !stepping_down_ && clients_ == 0;
  serving_ = false;
  lock.Unlock();
  if (ends) {
    executor->StopForGood();
  } else {
    executor->Stop();
  }
  session.Stop(farewell);
  directory_.RemoveSocket(epoch);
  return condition.status();
}

void Role::KeepSocket(uint64_t epoch, Session& session) {
  if (directory_.HasSocket(epoch)) return;
  Result<FileDescriptor> listener = directory_.Listen(epoch);
  if (!listener.ok()) return;  // tried again at the next check, for example after the disk was full
  session.ListenOn(std::move(*listener));
  Log(LogLevel::kNotice,
      "the socket of " + directory_.path() + " was removed and has been recreated");
}

void Role::ServeFailure(std::chrono::milliseconds time) {
  AG_CHECK(lock_, "only the holder of the lock answers in place of a server");
  RefusingEvents events([this](uint64_t generation) { OnStepDown(generation); });
  Result<FileDescriptor> listener = directory_.Listen(0);
  if (listener.ok()) {
    Server server(std::move(*listener), events);
    if (server.Start().ok()) Pause(time);
    server.Stop({});
    directory_.RemoveSocket(0);
  } else {
    Pause(time);
  }
}

bool Role::Pause(std::chrono::milliseconds duration) {
  MutexLock lock(mutex_);
  const Deadline end = DeadlineAfter(duration);
  while (!LeavingLocked() && changed_.WaitUntil(mutex_, end)) continue;
  return !LeavingLocked();
}

void Role::OnStepDown(uint64_t generation) {
  MutexLock lock(mutex_);
  if (generation <= generation_) return;
  stepping_down_ = true;
  changed_.NotifyAll();
}

void Role::Log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

Result<std::unique_ptr<StateServer>> StartRole(StateOptions options,
                                               std::unique_ptr<Storage> storage) {
  AG_ASSIGN_OR_RETURN(StateDirectory directory,
                      options.creates
                          ? StateDirectory::Create(options.directory, options.root_serves)
                          : StateDirectory::Open(options.directory, options.root_serves));
  auto role = std::make_unique<Role>(std::move(options), std::move(directory), std::move(storage));
  AG_RETURN_IF_ERROR(role->Start());
  return std::unique_ptr<StateServer>(std::move(role));
}

}  // namespace agent_graph::state
