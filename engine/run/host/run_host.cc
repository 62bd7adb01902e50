#include "run/host/run_host.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "agent_graph/graph.h"
#include "base/free_memory.h"
#include "base/json_weight.h"
#include "run/context/execution_meta.h"
#include "run/host/live_sink.h"
#include "run/host/piece_log.h"
#include "run/host/stored_request.h"
#include "run/run_request.h"
#include "runtime/runtime.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

constexpr int64_t kMillisecondMicros = 1000;
// Limit on the requests of runs that wait for others to end.
constexpr size_t kWaitingBytesMax = 64 * 1024 * 1024;

// Reason in the record of a run that its user may no longer execute.
constexpr char kForbidden[] = "forbidden";

// The place where the attempt before had arrived; empty if it had stored nothing.
std::string PlaceOf(const state::GrantedRun& granted) {
  const std::string& node = granted.current_node;
  return node == START || node == ExecutionMeta().current_node ? std::string() : node;
}

// The deadline is a time of day, because it holds for all attempts.
std::chrono::milliseconds TimeLeft(const state::GrantedRun& granted) {
  return std::chrono::milliseconds((granted.deadline_micros - UnixMicros()) / kMillisecondMicros);
}

Deadline DeadlineOf(const state::GrantedRun& granted) {
  return granted.deadline_micros > 0 ? DeadlineAfter(TimeLeft(granted)) : kNoDeadline;
}

}  // namespace

RunHost::RunHost(Runner& runner, state::Service& state, runtime::Runtime& runtime,
                 RunHostOptions options)
    : runner_(runner),
      state_(state),
      runtime_(runtime),
      options_(std::move(options)),
      local_(state, runtime, options_.count_bytes),
      remote_(state, options_.count_bytes) {}

// A run may be granted again before the fiber of an attempt that lost its lease has ended; the new
// attempt takes its place.
void RunHost::Execute(state::GrantedRun granted) {
  auto start = std::make_shared<Start>();
  start->key = Key(granted.thread_id, granted.run_id);
  start->hosted = std::make_shared<Hosted>();
  start->bytes = granted.request.size();
  start->continues = !PlaceOf(granted).empty();
  const Deadline deadline = DeadlineOf(granted);
  start->granted = std::move(granted);
  CountBytes(static_cast<int64_t>(start->bytes));
  local_.Add(start->key.first, start->key.second, start->hosted->live);
  bool is_next_deadline = false;
  {
    MutexLock lock(mutex_);
    runs_[start->key] = start->hosted;
    waiting_bytes_ += start->bytes;
    if (leaving_ || waiting_bytes_ > kWaitingBytesMax) {
      start->hosted->hand_over->Request();
      waiting_.push_front(std::move(start));
    } else {
      if (deadline != kNoDeadline) {
        start->deadline = deadlines_.emplace(deadline, start);
        is_next_deadline = *start->deadline == deadlines_.begin();
      }
      Enqueue(std::move(start));
    }
  }
  StartWaiting();
  if (is_next_deadline) WatchDeadlines();
}

void RunHost::Cancel(const std::string& thread_id, const std::string& run_id) {
  std::shared_ptr<Hosted> hosted;
  {
    MutexLock lock(mutex_);
    const auto found = runs_.find(Key(thread_id, run_id));
    if (found == runs_.end()) return;
    hosted = found->second;
    const auto waits = std::ranges::find(waiting_, hosted, &Start::hosted);
    if (waits != waiting_.end()) GiveBack(waits);
  }
  // Without the lock, because the call wakes fibers that may take it.
  hosted->cancellation.Cancel(runtime::CancelReason::kStopped);
  StartWaiting();
}

void RunHost::GiveBack(std::deque<std::shared_ptr<Start>>::iterator waits) {
  (*waits)->hosted->hand_over->Request();
  std::rotate(waiting_.begin(), waits, waits + 1);
}

// One fiber watches for all. It is woken when there is an earlier deadline, and when there is none.
void RunHost::WatchDeadlines() {
  {
    MutexLock lock(mutex_);
    if (deadlines_.empty()) return;
    if (std::exchange(watches_deadlines_, true)) return deadlines_changed_.Notify();
  }
  runtime_.Spawn([this] {
    for (;;) {
      Deadline next = kNoDeadline;
      {
        MutexLock lock(mutex_);
        next = NextDeadline();
        watches_deadlines_ = next != kNoDeadline;
      }
      StartWaiting();
      if (next == kNoDeadline) return;
      (void)deadlines_changed_.Wait(nullptr, next);
    }
  });
}

// Gives back the runs whose deadline has passed, and returns the next deadline.
Deadline RunHost::NextDeadline() {
  while (!deadlines_.empty()) {
    const auto [deadline, start] = *deadlines_.begin();
    if (deadline > MonotonicClock::now()) return deadline;
    ForgetDeadline(*start);
    const auto waits = std::ranges::find(waiting_, start);
    if (waits != waiting_.end()) GiveBack(waits);
  }
  return kNoDeadline;
}

void RunHost::ForgetDeadline(Start& start) {
  if (!start.deadline) return;
  deadlines_.erase(*std::exchange(start.deadline, std::nullopt));
  if (deadlines_.empty() && watches_deadlines_) deadlines_changed_.Notify();
}

// Queues a run that has lost its worker ahead of runs that have not begun.
void RunHost::Enqueue(std::shared_ptr<Start> start) {
  const auto has_not_begun = [](const std::shared_ptr<Start>& other) {
    return !other->continues && !other->hosted->hand_over->requested();
  };
  const auto place =
      start->continues ? std::ranges::find_if(waiting_, has_not_begun) : waiting_.end();
  waiting_.insert(place, std::move(start));
}

// If many runs have lost their worker, they are not all loaded at the same time. A run that is only
// given back needs no room.
bool RunHost::MayStart(const Start& start) const {
  if (start.hosted->hand_over->requested()) return true;
  return active_ < options_.runs_max && (!start.continues || loading_ < options_.starts_max);
}

void RunHost::StartWaiting() {
  for (;;) {
    std::shared_ptr<Start> start;
    {
      MutexLock lock(mutex_);
      if (waiting_.empty() || !MayStart(*waiting_.front())) return;
      start = std::move(waiting_.front());
      waiting_.pop_front();
      ForgetDeadline(*start);
      waiting_bytes_ -= start->bytes;
      ++active_;
      if (start->continues) ++loading_;
    }
    runtime_.Spawn([this, start = std::move(start)] {
      const std::shared_ptr<void> removal(nullptr, [&](void*) { Remove(*start); });
      Run(*start);
    });
  }
}

void RunHost::EndStart() {
  {
    MutexLock lock(mutex_);
    --loading_;
  }
  StartWaiting();
}

void RunHost::Remove(const Start& start) {
  {
    MutexLock lock(mutex_);
    --active_;
    const auto found = runs_.find(start.key);
    if (found != runs_.end() && found->second == start.hosted) runs_.erase(found);
  }
  local_.Remove(start.key.first, start.key.second, *start.hosted->live);
  StartWaiting();
}

void RunHost::Run(Start& start) {
  const auto& [thread_id, run_id] = start.key;
  std::shared_ptr<void> loading;
  if (start.continues) loading.reset(this, [](RunHost* host) { host->EndStart(); });
  const bool leaves = start.hosted->hand_over->requested();
  if (leaves) CountBytes(-static_cast<int64_t>(start.bytes));
  const Status failure = leaves ? Status::Ok() : Begin(start, std::move(loading));
  if (!failure.ok()) Log(LogLevel::kWarning, run_id, failure);
  // After a failure the run is still ours if the state server did not answer. The call has no
  // effect on a run that has ended.
  if (leaves || !failure.ok()) {
    (void)state_.HandOverRun(thread_id, run_id, start.granted.lease_epoch);
  }
}

Status RunHost::Begin(Start& start, std::shared_ptr<void> loading) {
  state::GrantedRun& granted = start.granted;
  const std::shared_ptr<Hosted>& hosted = start.hosted;
  LiveSink sink(*hosted->live, hosted->cancellation, DeadlineOf(granted), options_,
                std::move(loading), start.bytes);
  Status room = sink.AwaitMemory(JsonWeight(granted.request).bytes());
  // A run that was cancelled meanwhile is ended below. The state ends one whose deadline has
  // passed.
  const bool has_no_room =
      room.code() == StatusCode::kResourceExhausted || room.code() == StatusCode::kDeadlineExceeded;
  Result<RunRequest> loaded = has_no_room ? room : LoadRequest(granted.request);
  FreeMemory(granted.request);
  if (has_no_room) return room;
  const Status readable = loaded.status();
  RunRequest request = loaded.ok() ? *std::move(loaded) : RunRequest{};
  request.thread_id = granted.thread_id;
  request.run_id = granted.run_id;
  request.accepted = AcceptedRun{.attempt = granted.attempt,
                                 .current_node = PlaceOf(granted),
                                 .step = granted.step,
                                 .hand_over = hosted->hand_over,
                                 .lease_epoch = granted.lease_epoch};
  const auto end = [&](Status failure, std::string reason) {
    AG_RETURN_IF_ERROR(
        runner_.EndUnexecuted(request, hosted->cancellation, failure, std::move(reason)));
    RunOutcome outcome;
    outcome.status = RunStatus::kError;
    outcome.error = failure;
    NoteEnd(outcome, *hosted);
    return failure;
  };
  if (!readable.ok()) return end(readable, std::string(StatusCodeName(readable.code())));
  if (granted.deadline_micros > 0) {
    const std::chrono::milliseconds left = TimeLeft(granted);
    if (left.count() <= 0) {
      return end(Status(StatusCode::kDeadlineExceeded, "the run took longer than it may"),
                 runtime::CancelReasonName(runtime::CancelReason::kDeadline));
    }
    request.deadline = DeadlineAfter(left);
    request.cancelled_after = left;
  }
  if (options_.authorize) {
    Status allowed = options_.authorize(request, hosted->cancellation);
    if (allowed.code() == StatusCode::kPermissionDenied) return end(std::move(allowed), kForbidden);
    if (allowed.code() == StatusCode::kDataLoss) {
      return end(allowed, std::string(StatusCodeName(allowed.code())));
    }
    AG_RETURN_IF_ERROR(allowed);
  }
  if (request.log_pieces) {
    runtime_.Spawn(
        [this, live = hosted->live, thread_id = granted.thread_id, run_id = granted.run_id] {
          PieceLog(state_, live, thread_id, run_id).Write();
        });
  }
  const Result<RunOutcome> outcome =
      runner_.Execute(std::move(request), hosted->cancellation, sink);
  if (outcome.ok() && !outcome->left && outcome->is_stored) NoteEnd(*outcome, *hosted);
  return outcome.status();
}

void RunHost::NoteEnd(const RunOutcome& outcome, const Hosted& hosted) const {
  if (options_.on_ended) options_.on_ended(outcome, hosted.cancellation.reason());
}

size_t RunHost::count() const {
  MutexLock lock(mutex_);
  return runs_.size();
}

void RunHost::Leave(std::chrono::milliseconds followers_go_within) {
  MutexLock lock(mutex_);
  if (std::exchange(leaving_, true)) return;
  left_at_ = MonotonicClock::now();
  followers_go_within_ = followers_go_within;
}

Deadline RunHost::LeaveTime(double share) const {
  MutexLock lock(mutex_);
  if (!leaving_) return kNoDeadline;
  const double millis = static_cast<double>(followers_go_within_.count()) * share;
  return left_at_ + std::chrono::milliseconds(static_cast<int64_t>(millis));
}

void RunHost::HandOver() {
  Leave();
  {
    MutexLock lock(mutex_);
    for (const auto& [key, hosted] : runs_) hosted->hand_over->Request();
  }
  StartWaiting();
}

void RunHost::HandOverNow() {
  HandOver();
  std::vector<std::shared_ptr<Hosted>> runs;
  {
    MutexLock lock(mutex_);
    for (const auto& [key, hosted] : runs_) runs.push_back(hosted);
  }
  // Without the lock, because the call wakes fibers that may take it.
  for (const std::shared_ptr<Hosted>& hosted : runs) hosted->hand_over->RequestNow();
}

void RunHost::CountBytes(int64_t bytes) const {
  if (options_.count_bytes) options_.count_bytes(bytes);
}

void RunHost::Log(LogLevel level, const std::string& run_id, const Status& status) const {
  if (options_.log) options_.log(level, "run " + run_id + ": " + status.ToString());
}

}  // namespace agent_graph::run
