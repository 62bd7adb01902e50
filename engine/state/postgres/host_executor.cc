#include "state/postgres/host_executor.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/thread.h"
#include "state/pack/fields.h"
#include "state/store/clients.h"

namespace agent_graph::state::postgres {
namespace {

// Interval at which readers are given what other hosts have appended.
constexpr std::chrono::milliseconds kFollowInterval{250};
// Between beats while there are more notices than a beat reads. The next beat acknowledges the
// notices, so the write thread needs time to act on them.
constexpr std::chrono::milliseconds kNoticesInterval{50};
// Limit of the threads that are checked in this interval. Readers of further threads wait until the
// deadline of their requests.
constexpr size_t kFollowedMax = 10'000;
// Wait before new watches are handled, so that watches that begin together are handled together.
constexpr std::chrono::milliseconds kGather{3};

// The link's session writes nothing, so its commits need not wait for a disk.
ConnectionOptions LinkConnection(ConnectionOptions options) {
  options.waits_for_disk = false;
  options.application_name = "agent-graph-link";
  return options;
}

}  // namespace

HostExecutor::HostExecutor(std::unique_ptr<Database> database, const StoreExecutorOptions& options,
                           std::unique_ptr<Membership> membership,
                           std::shared_ptr<SharedMemoryRows> memories)
    : StoreExecutor(std::move(database), options),
      status_(options.state.database_status),
      membership_(std::move(membership)),
      shared_memories_(std::move(memories)),
      housekeeping_(membership_->database(), membership_->id(), status_,
                    [this](const std::string& text) { Log(LogLevel::kAlert, text); }),
      link_({.connection = LinkConnection(membership_->database()),
             .instance = membership_->id(),
             .receive = [this](const auto& messages) { Receive(messages); },
             .status = status_}) {}

HostExecutor::~HostExecutor() {
  HostExecutor::Stop();
}

Status HostExecutor::Start() {
  if (started_) return Status::Ok();
  // The beat starts first, because the start of a store with many leases takes longer than a host
  // may be silent.
  AG_RETURN_IF_ERROR(runtime::StartThread(beat_thread_, "state-beat", [this] { KeepAlive(); }));
  AG_RETURN_IF_ERROR(StoreExecutor::Start());
  AG_RETURN_IF_ERROR(housekeeping_.Start());
  AG_RETURN_IF_ERROR(link_.Start());
  AG_RETURN_IF_ERROR(runtime::StartThread(follow_thread_, "state-follow", [this] { Follow(); }));
  started_ = true;
  return Status::Ok();
}

void HostExecutor::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  BeginStop();
  membership_->Interrupt();
  shared_memories_->Interrupt();
  housekeeping_.Stop();
  link_.Stop();
  if (beat_thread_.joinable()) beat_thread_.join();
  // This also interrupts the reads of the follow thread.
  StoreExecutor::Stop();
  if (follow_thread_.joinable()) follow_thread_.join();
}

void HostExecutor::StopForGood() {
  Stop();
  const Status left = membership_->Leave();
  if (left.ok()) return;
  Log(LogLevel::kNotice,
      "the other hosts will notice the end of this one by themselves: " + left.ToString());
}

bool HostExecutor::Pause(Duration time, Until until) {
  const Deadline end = MonotonicClock::now() + time;
  MutexLock lock(mutex_);
  bool in_time = true;
  while (in_time && !stopping_ && !(until == Until::kTimeOrWatch && has_new_watch_)) {
    in_time = stop_.WaitUntil(mutex_, end);
  }
  return !stopping_;
}

void HostExecutor::KeepAlive() {
  std::optional<Duration> pause = Beat();
  while (pause && Pause(*pause)) pause = Beat();
}

void HostExecutor::Follow() {
  while (Pause(kFollowInterval, Until::kTimeOrWatch) && Pause(kGather)) {
    {
      MutexLock lock(mutex_);
      has_new_watch_ = false;
    }
    ResumeFollowers();
    remote_readers_.Expire(MonotonicClock::now());
  }
}

// A failed beat is not repeated at once: hosts that are dead are only declared dead a beat later.
std::optional<Duration> HostExecutor::Beat() {
  const Result<Membership::News> news = membership_->Beat();
  if (news.ok() && !news->lost) {
    status_->last_beat_micros.store(MonotonicMicros(MonotonicClock::now()),
                                    std::memory_order_relaxed);
  }
  if (!news.ok()) return Membership::kBeatInterval;
  if (!Take(*news)) return std::nullopt;
  // After the deletion of many threads, a cancellation must not wait behind their notices.
  return news->may_have_more ? Duration(kNoticesInterval) : Duration(Membership::kBeatInterval);
}

void HostExecutor::ResumeFollowers() {
  std::vector<std::string> threads = FollowedThreads();
  const std::vector<RunWatches::Known> watched = WatchedRuns();
  for (const RunWatches::Known& run : watched) threads.push_back(run.run.first);
  if (threads.size() > kFollowedMax) threads.resize(kFollowedMax);
  if (threads.empty()) {
    asked_.clear();
    return seen_.clear();
  }
  const Result<std::vector<Database::LeaseState>> leases = database().LeaseStates(threads);
  if (!leases.ok()) return;
  std::unordered_map<std::string, std::string> seen;
  std::vector<std::string> changed;
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string& version = (*leases)[i].version;
    const auto before = seen_.find(threads[i]);
    if (before == seen_.end() || before->second != version) changed.push_back(threads[i]);
    seen.emplace(threads[i], version);
  }
  seen_ = std::move(seen);
  ResumeChanged(changed);
  AskHosts(watched, threads, *leases);
}

bool HostExecutor::Take(const Membership::News& news) {
  if (news.lost) {
    SetFailure(Status(StatusCode::kFenced, "the other hosts have declared this one dead"));
    return false;
  }
  for (const Notice& notice : news.notices) {
    HostNotice received;
    if (pack::FromBytes(notice.body, received)) OnHostNotice(std::move(received));
  }
  // Not those that have ended in an orderly way, and each of the others at one host only.
  status_->takeovers.fetch_add(news.declared_dead.size(), std::memory_order_relaxed);
  for (const std::string& instance : news.dead) {
    if (taken_over_.insert(instance).second) TakeOver(instance);
  }
  return true;
}

}  // namespace agent_graph::state::postgres
