#include "state/owner/role.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "runtime/thread.h"
#include "state/leveldb/disk/folder_watch.h"
#include "state/leveldb/transaction.h"
#include "state/owner/refusing.h"

namespace agent_graph::state {
namespace {

// Poll intervals of a waiting candidate. When it is connected, it notices the end of the server by
// its connection; the lock may be released a moment later. A server that is still opening its
// database has no socket yet.
constexpr int kConnectedPollMs = 200;
constexpr int kUnconnectedPollMs = 5;
constexpr std::chrono::milliseconds kBusyBackoffMin{20};
constexpr std::chrono::milliseconds kBusyBackoffMax{1000};
constexpr std::chrono::milliseconds kRetryInterval{5000};
constexpr std::chrono::milliseconds kYieldPause{500};
constexpr std::chrono::milliseconds kCheckInterval{1000};

// Asks the current server to hand over if our generation is newer.
FileDescriptor AskToYield(const StateDirectory& directory, uint64_t generation) {
  Result<FileDescriptor> owner = directory.Connect();
  if (!owner.ok()) return {};
  const std::string frame = wire::MakeFrame(wire::FrameType::kYield, wire::Yield{generation});
  if (send(owner->get(), frame.data(), frame.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(frame.size())) {
    return {};
  }
  return std::move(*owner);
}

std::string NotAvailable(const std::string& directory, const char* use, const Status& status) {
  std::string text = "state of " + directory + " is not available" + use + ": " + status.ToString();
  if (status.code() == StatusCode::kDataLoss) {
    text +=
        " (\"agent-graph-admin repair " + directory + "\", while nginx is stopped, saves the rest)";
  }
  return text;
}

bool StillConnected(int socket) {
  char byte;
  const ssize_t received = recv(socket, &byte, 1, MSG_DONTWAIT);  // NOLINT: does not block
  return received > 0 || (received < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

Role::Role(OwnerOptions options, StateDirectory directory)
    : options_(std::move(options)),
      generation_(options_.generation == OwnerOptions::kNewest ? static_cast<uint64_t>(UnixMicros())
                                                               : options_.generation),
      directory_(std::move(directory)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Role::~Role() {
  Finish(MonotonicClock::now());
}

Status Role::Start() {
  if (!wake_) return Status(StatusCode::kUnavailable, "the state owner cannot create an eventfd");
  return runtime::StartThread(thread_, "state-owner", [this] { Run(); });
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

bool Role::WaitUntilOwning(Deadline deadline) {
  MutexLock lock(mutex_);
  while (!owning_ && !ended_ && changed_.WaitUntil(mutex_, deadline)) continue;
  return owning_;
}

bool Role::LeavingLocked() const {
  if (yielded_) return true;
  return finishing_ && (!owning_ || clients_ == 0 || MonotonicClock::now() >= finish_deadline_);
}

void Role::Run() {
  while (WaitForLock()) {
    ReignUntilLeaving();
    lock_.Reset();
    {
      MutexLock lock(mutex_);
      yielded_ = false;
    }
    // The candidate that asked for the role gets it first; then this one waits as standby again.
    Pause(kYieldPause);
  }
  MutexLock lock(mutex_);
  AG_CHECK(!owning_, "a role ends after its reign");
  ended_ = true;
  changed_.NotifyAll();
}

void Role::ReignUntilLeaving() {
  for (;;) {
    Status status = Reign();
    {
      MutexLock lock(mutex_);
      if (LeavingLocked()) return;
    }
    if (status.ok()) continue;
    Log(OwnerOptions::LogLevel::kAlert, NotAvailable(directory_.path(), "", status));
    ServeFailure();
    MutexLock lock(mutex_);
    if (LeavingLocked()) return;
  }
}

bool Role::WaitForLock() {
  FileDescriptor owner;
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
      Log(OwnerOptions::LogLevel::kAlert, lock.status().ToString());
    }
    if (!owner) owner = AskToYield(directory_, generation_);
    pollfd events[2] = {{wake_.get(), POLLIN, 0}, {owner.get(), POLLIN, 0}};
    poll(events, owner ? 2 : 1, owner ? kConnectedPollMs : kUnconnectedPollMs);
    if (owner && events[1].revents != 0 && !StillConnected(owner.get())) owner.Reset();
  }
}

Result<std::unique_ptr<Database>> Role::OpenDatabase() {
  if (options_.type == OwnerOptions::Type::kMemory) return Database::OpenMemory();
  if (lost_files_ != nullptr) {
    AG_RETURN_IF_ERROR(lost_files_->Check());
    lost_files_.reset();
  }
  const DatabaseOptions options{.keeps_reserve = true, .creates = options_.creates};
  for (auto backoff = kBusyBackoffMin;; backoff = std::min(backoff * 2, kBusyBackoffMax)) {
    Result<std::unique_ptr<Database>> database =
        Database::OpenDirectory(directory_.database_path(), options);
    if (database.ok() || database.status().code() != StatusCode::kBusy) return database;
    Pause(backoff);
    MutexLock lock(mutex_);
    if (LeavingLocked()) return database;
  }
}

Result<uint64_t> Role::NextEpoch(Database& database) const {
  // An in-memory database starts empty each time; the clock makes its epochs increase.
  if (options_.type == OwnerOptions::Type::kMemory) return static_cast<uint64_t>(UnixMicros());
  Transaction transaction(database);
  const std::string key = keys::Meta("owner_epoch");
  AG_ASSIGN_OR_RETURN(std::optional<uint64_t> last, transaction.GetRow<uint64_t>(key));
  const uint64_t epoch = last.value_or(0) + 1;
  transaction.PutRow(key, epoch);
  transaction.Accept(options_.sync != SyncLevel::kNone);
  AG_RETURN_IF_ERROR(transaction.Commit());
  return epoch;
}

Status Role::Reign() {
  AG_CHECK(lock_, "only the holder of the lock opens the database");
  AG_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, OpenDatabase());
  AG_ASSIGN_OR_RETURN(uint64_t epoch, NextEpoch(*database));
  AG_ASSIGN_OR_RETURN(FileDescriptor listener, directory_.Listen(epoch));
  SessionEvents events;
  events.on_failed = [this](const Status& status) {
    MutexLock lock(mutex_);
    failure_ = status;
    changed_.NotifyAll();
  };
  events.on_yield = [this](uint64_t generation) { OnYield(generation); };
  events.on_clients_changed = [this](size_t clients) {
    MutexLock lock(mutex_);
    clients_ = clients;
    changed_.NotifyAll();
  };
  events.on_report = [this](const Store::Report& report) {
    Log(report.alert ? OwnerOptions::LogLevel::kAlert : OwnerOptions::LogLevel::kNotice,
        "state of " + directory_.path() + ": " + report.text);
  };
  {
    MutexLock lock(mutex_);
    failure_ = Status::Ok();
    clients_ = 0;
  }
  SessionOptions options;
  options.epoch = epoch;
  options.sync = options_.sync;
  options.thread_ttl = options_.thread_ttl;
  options.memory_index_bytes_max = options_.memory_index_bytes_max;
  if (options_.type == OwnerOptions::Type::kLevelDb) {
    options.index_directory = directory_.index_path();
    options.backup_directory = directory_.backup_path();
  }
  Session session(std::move(database), std::move(options), std::move(events));
  AG_RETURN_IF_ERROR(session.Start(std::move(listener)));
  Log(OwnerOptions::LogLevel::kNotice,
      "owns the state of " + directory_.path() + ", epoch " + std::to_string(epoch));
  MutexLock lock(mutex_);
  AG_CHECK(!owning_ && !ended_, "one reign at a time");
  owning_ = true;
  changed_.NotifyAll();
  DatabaseWatch watch;
  Status files;
  for (bool reopens = false; !reopens && files.ok() && !LeavingLocked();) {
    const Deadline check = DeadlineAfter(kCheckInterval);
    changed_.WaitUntil(mutex_, finishing_ ? std::min(finish_deadline_, check) : check);
    const Status failure = failure_;
    lock.Unlock();
    files = CheckFiles(session.database());
    if (files.ok()) {
      KeepSocket(epoch, session);
      reopens = TendDatabase(session.database(), failure, watch);
    }
    lock.Lock();
  }
  const auto farewell = yielded_ ? Session::Farewell::kGoAway : Session::Farewell::kNone;
  owning_ = false;
  lock.Unlock();
  session.Stop(farewell);
  directory_.RemoveSocket(epoch);
  return files;
}

Status Role::CheckFiles(const Database& database) {
  if (database.files() == nullptr) return Status::Ok();
  Status found = database.files()->Check();
  if (!found.ok()) lost_files_ = database.files();
  return found;
}

bool Role::TendDatabase(Database& database, const Status& failure, DatabaseWatch& watch) const {
  if (!failure.ok() && watch.next_try == kNoDeadline) {
    Log(OwnerOptions::LogLevel::kAlert, NotAvailable(directory_.path(), " for writing", failure));
    watch.next_try = DeadlineAfter(kRetryInterval);
  }
  if (database.low_on_space() && !std::exchange(watch.low_on_space, true)) {
    Log(OwnerOptions::LogLevel::kAlert, "state of " + directory_.path() +
                                            " is not available for writing: the disk is full; "
                                            "reads and deletions go on");
  }
  database.Tend();
  if (!database.low_on_space() && std::exchange(watch.low_on_space, false)) {
    Log(OwnerOptions::LogLevel::kNotice,
        "the disk of the state of " + directory_.path() + " has space again");
  }
  if (MonotonicClock::now() < watch.next_try) return false;
  watch.next_try = DeadlineAfter(kRetryInterval);
  return database.CheckWritable().ok();
}

void Role::KeepSocket(uint64_t epoch, Session& session) {
  if (directory_.HasSocket(epoch)) return;
  Result<FileDescriptor> listener = directory_.Listen(epoch);
  if (!listener.ok()) return;  // tried again at the next check, for example after the disk was full
  session.ListenOn(std::move(*listener));
  Log(OwnerOptions::LogLevel::kNotice,
      "the socket of " + directory_.path() + " was removed and is there again");
}

void Role::ServeFailure() {
  AG_CHECK(lock_, "only the holder of the lock answers in the owner's place");
  RefusingEvents events([this](uint64_t generation) { OnYield(generation); });
  Result<FileDescriptor> listener = directory_.Listen(0);
  if (listener.ok()) {
    Server server(std::move(*listener), events);
    if (server.Start().ok()) Pause(kRetryInterval);
    server.Stop({});
    directory_.RemoveSocket(0);
  } else {
    Pause(kRetryInterval);
  }
}

void Role::Pause(std::chrono::milliseconds duration) {
  MutexLock lock(mutex_);
  const Deadline end = DeadlineAfter(duration);
  while (!LeavingLocked() && changed_.WaitUntil(mutex_, end)) continue;
}

void Role::OnYield(uint64_t generation) {
  MutexLock lock(mutex_);
  if (generation <= generation_) return;
  yielded_ = true;
  changed_.NotifyAll();
}

void Role::Log(OwnerOptions::LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

struct Owner::Implementation {
  Implementation(OwnerOptions options, StateDirectory directory)
      : role(std::move(options), std::move(directory)) {}
  Role role;
};

Owner::Owner(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Owner::~Owner() = default;

Result<std::unique_ptr<Owner>> Owner::Start(OwnerOptions options) {
  AG_ASSIGN_OR_RETURN(StateDirectory directory,
                      options.creates
                          ? StateDirectory::Create(options.directory, options.root_serves)
                          : StateDirectory::Open(options.directory, options.root_serves));
  auto implementation = std::make_unique<Implementation>(std::move(options), std::move(directory));
  AG_RETURN_IF_ERROR(implementation->role.Start());
  return std::unique_ptr<Owner>(new Owner(std::move(implementation)));
}

void Owner::Finish(Deadline deadline) {
  implementation_->role.Finish(deadline);
}

bool Owner::WaitUntilOwning(Deadline deadline) {
  return implementation_->role.WaitUntilOwning(deadline);
}

}  // namespace agent_graph::state
