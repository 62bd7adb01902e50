#include "api/stream/run_follower.h"

#include <algorithm>
#include <utility>

#include "runtime/signal.h"
#include "state/rules/lost_run.h"

namespace agent_graph::api {
namespace {

// Entries before a cursor that are read to know the step and the attempt there.
constexpr uint64_t kLookBack = 64;
// A live run reports entries that the state server answers with at once.
constexpr std::chrono::milliseconds kCatchUpWait{1000};
// Failed reads of the log in a row, after which the stream ends.
constexpr int kFailuresMax = 30;

constexpr std::string_view kDeleted = "deleted";

bool IsWorthARetry(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kResourceExhausted;
}

}  // namespace

RunFollower::RunFollower(state::Service& state, LiveRuns runs, FollowedRun followed,
                         FollowerOptions options, const runtime::Cancellation& cancellation)
    : state_(state),
      runs_(std::move(runs)),
      followed_(std::move(followed)),
      options_(std::move(options)),
      cancellation_(cancellation) {}

Result<RunFollower::Place> RunFollower::Open(const std::optional<run::Cursor>& after) {
  Place place = Place::kFound;
  if (after) {
    AG_ASSIGN_OR_RETURN(place, FindPlace(*after));
  } else {
    state::FollowRunRequest probe{followed_.scope, followed_.thread_id, followed_.run_id};
    probe.entries_max = 1;
    AG_ASSIGN_OR_RETURN(state::FollowRunReply reply, state_.FollowRun(probe, &cancellation_));
    record_ = std::move(reply.run);
    history_ = reply.history;
    next_ = record_.log_begin;
    // A queued run has no place in the log yet.
    const bool is_queued = record_.state == state::RunState::kQueued;
    if (!is_queued && reply.kept_from > next_) place = Place::kCutAway;
  }
  if (place != Place::kFound) return place;
  AG_ASSIGN_OR_RETURN(const state::ThreadRecord thread,
                      state_.GetThread(followed_.scope, followed_.thread_id));
  start_.thread_id = followed_.thread_id;
  start_.run_id = followed_.run_id;
  start_.is_new_thread = thread.created_micros >= record_.created_micros;
  start_.thread_name = thread.name;
  start_.thread_number = record_.thread_number;
  return place;
}

// Reads the entries before the cursor, too: the last one must be one that the reader has.
Result<RunFollower::Place> RunFollower::FindPlace(const run::Cursor& after) {
  state::FollowRunRequest probe{followed_.scope, followed_.thread_id, followed_.run_id};
  probe.first = after.index - std::min(after.index, kLookBack);
  probe.entries_max = kLookBack;
  // Pieces of an attempt may be shown before its first entry.
  lease_epoch_ = after.lease_epoch;
  uint64_t read = 0;   // the index behind the newest entry before the cursor; 0: none
  uint64_t epoch = 0;  // the lease under which that entry was appended
  uint64_t kept_from = 0;
  bool is_behind_end = false;
  std::string message_id;  // in progress at the cursor
  for (bool more = true; more;) {
    AG_ASSIGN_OR_RETURN(state::FollowRunReply reply, state_.FollowRun(probe, &cancellation_));
    record_ = std::move(reply.run);
    history_ = reply.history;
    if (after.thread_number != PlaceNumber()) return Place::kOtherThread;
    next_ = std::max(after.index, record_.log_begin);
    kept_from = reply.kept_from;
    if (kept_from > next_) return Place::kCutAway;
    const size_t behind =
        std::erase_if(reply.entries, [&](const auto& entry) { return entry.index >= next_; });
    is_behind_end = behind == 0 && reply.complete;
    for (const state::IndexedEntry& indexed : reply.entries) {
      Recall(indexed, after.lease_epoch, message_id);
      read = indexed.index + 1;
      epoch = indexed.lease_epoch;
    }
    // Large entries come in several replies.
    more = !reply.entries.empty() && behind == 0 && read < next_;
    probe.first = read;
  }
  const bool reached = read == next_;
  const bool is_start = next_ == record_.log_begin || next_ == kept_from;
  if (epoch > after.lease_epoch || (!reached && !is_start && !is_behind_end)) {
    if (record_.reason == state::kHistoryLost) return Place::kHistoryLost;
    // A power cut has lost entries that the reader has: other entries have their places now.
    lost_epoch_ = after.lease_epoch;
    next_ = std::max(record_.log_begin, kept_from);
    return Place::kFound;
  }
  // The last entry may have a line, before `done`: the cursor of `done` differs from its cursor.
  if (is_behind_end && (!reached || after.text_bytes > 0)) return Place::kBehindEnd;
  parts_.Resume(after, std::move(message_id));
  return Place::kFound;
}

// Takes note of an entry that the reader has. `message_id`: of the message that was then in
// progress in the attempt of this lease.
void RunFollower::Recall(const state::IndexedEntry& indexed, uint64_t lease_epoch,
                         std::string& message_id) {
  lease_epoch_ = std::max(lease_epoch_, indexed.lease_epoch);
  const std::optional<run::EntryBody> body = run::Decode(indexed.entry);
  if (!body) return;
  if (const auto* node = std::get_if<run::entry::NodeStarted>(&*body)) {
    step_ = static_cast<int>(node->step);
  } else if (const auto* model = std::get_if<run::entry::ModelStarted>(&*body)) {
    message_id = indexed.lease_epoch == lease_epoch ? model->message_id : std::string();
  } else if (const auto* added = std::get_if<run::entry::MessageAdded>(&*body)) {
    parts_.Complete(added->message_id);
    message_id.clear();
  } else if (std::holds_alternative<run::entry::NodeFinished>(*body)) {
    message_id.clear();
  }
}

Status RunFollower::Follow(RunReader& reader) {
  reader_ = &reader;
  AG_RETURN_IF_ERROR(Sent(reader.OnStart(start_, &record_)));
  if (lost_epoch_) AG_RETURN_IF_ERROR(Sent(reader.OnReset("", record_.attempt)));
  while (!complete_) {
    if (options_.until_now && caught_up_) return Status::Ok();
    AG_RETURN_IF_ERROR(BeatIfDue());
    Status status = FollowNext();
    if (status.code() == StatusCode::kNotFound) return ShowEnd(kDeleted);
    if (!status.ok()) AG_RETURN_IF_ERROR(AwaitRetry(std::move(status)));
  }
  return ShowEnd();
}

std::shared_ptr<const run::LiveRun> RunFollower::FindLive() const {
  if (!runs_.here) return nullptr;
  std::shared_ptr<const run::LiveRun> live = runs_.here();
  return live == left_ ? nullptr : live;
}

Status RunFollower::FollowNext() {
  if (options_.until_now) return ReadLog(std::chrono::milliseconds(0));
  const auto live = options_.pieces_of_log ? nullptr : FindLive();
  if (live != nullptr) return FollowLive(live);
  if (runs_.leave_time && MonotonicClock::now() >= runs_.leave_time()) {
    return Status(StatusCode::kCancelled, "the worker leaves");
  }
  const bool has_pieces = runs_.elsewhere && !state::HasEnded(record_.state);
  if (!has_pieces || options_.pieces_of_log) return ReadLog(UntilLook());
  return FollowRemote();
}

Result<bool> RunFollower::ShowView(const run::LiveRun& live, run::LiveRun::View& view) {
  MessagePart latest;
  if (parts_.latest() != nullptr) latest = *parts_.latest();
  view = live.Read(latest.message_id, latest.reasoning_bytes, latest.text_bytes);
  if (view.ended || view.log_end > next_) return false;
  if (IsOvertaken(view)) view.partial.reset();
  if (!view.partial) return true;
  const size_t parts = parts_.size();
  AG_RETURN_IF_ERROR(ResetVoid(view.lease_epoch));
  // A void part was dropped, so the message is read again from its beginning.
  if (parts_.size() != parts) view = live.Read("", 0, 0);
  if (view.ended || view.log_end > next_) return false;
  if (view.partial)
    AG_RETURN_IF_ERROR(ShowPartial(view, parts_.size() == parts ? latest.message_id : ""));
  return true;
}

// A worker learns later than the readers of the log that a run has a new attempt.
bool RunFollower::IsOvertaken(const run::LiveRun::View& view) const {
  return view.lease_epoch != 0 && view.lease_epoch < lease_epoch_;
}

Status RunFollower::FollowLive(const std::shared_ptr<const run::LiveRun>& live) {
  run::LiveRun::View view;
  AG_ASSIGN_OR_RETURN(const bool shown, ShowView(*live, view));
  if (view.ended || IsOvertaken(view)) left_ = live;
  if (!shown) return ReadLog(view.ended ? UntilLook() : kCatchUpWait);
  if (left_ == live) return Status::Ok();
  Status waited = live->Await(view.version, cancellation_, next_beat_);
  if (waited.code() != StatusCode::kDeadlineExceeded) return waited;
  // The thread may have been deleted, or the run granted to another worker.
  return ReadLog(std::chrono::milliseconds(0));
}

Status RunFollower::FollowRemote() {
  if (remote_ == nullptr) remote_ = runs_.elsewhere(record_.thread_number);
  run::LiveRun::View view;
  AG_ASSIGN_OR_RETURN(const bool shown, ShowView(remote_->live(), view));
  if (!shown) return ReadLog(view.ended ? UntilLook() : kCatchUpWait);
  const Status waited = remote_->Await(view.version, followed_.scope, cancellation_, NextLook());
  // During an upgrade, a state server that knows no pieces serves the log.
  return waited.code() == StatusCode::kUnavailable ? ReadLog(UntilLook()) : waited;
}

Status RunFollower::ReadLog(std::chrono::milliseconds wait) {
  state::FollowRunRequest read{followed_.scope, followed_.thread_id, followed_.run_id};
  read.first = next_;
  read.wait_ms = std::clamp<int64_t>(wait.count(), 0, state::kFollowWaitMsMax);
  AG_ASSIGN_OR_RETURN(state::FollowRunReply reply, state_.FollowRun(read, &cancellation_));
  failures_ = 0;
  // The thread was deleted, and another one has its id.
  if (reply.run.thread_number != record_.thread_number) return NotFound("run not found");
  record_ = std::move(reply.run);
  for (const state::IndexedEntry& indexed : reply.entries) {
    next_ = indexed.index;
    AG_RETURN_IF_ERROR(ShowEntry(indexed));
    next_ = indexed.index + 1;
  }
  complete_ = reply.complete;
  caught_up_ = reply.entries.empty();
  return Status::Ok();
}

Status RunFollower::AwaitRetry(Status failure) {
  if (!IsWorthARetry(failure.code()) || ++failures_ > kFailuresMax) return failure;
  runtime::Signal nobody;
  const runtime::WakeReason reason = nobody.Wait(&cancellation_, DeadlineAfter(options_.retry));
  if (reason == runtime::WakeReason::kDeadline) return Status::Ok();
  return runtime::WakeStatus(reason, &cancellation_);
}

Status RunFollower::BeatIfDue() {
  if (MonotonicClock::now() < next_beat_) return Status::Ok();
  next_beat_ = DeadlineAfter(options_.heartbeat);
  return reader_->OnIdle();
}

Deadline RunFollower::NextLook() const {
  return runs_.leave_time ? std::min(next_beat_, runs_.leave_time()) : next_beat_;
}

std::chrono::milliseconds RunFollower::UntilLook() const {
  // Rounded up, so that the wait does not end just before the heartbeat is due.
  return std::chrono::ceil<std::chrono::milliseconds>(NextLook() - MonotonicClock::now());
}

std::string RunFollower::CursorAt(uint64_t index, uint64_t reasoning_bytes,
                                  uint64_t text_bytes) const {
  return run::CursorText({PlaceNumber(), lease_epoch_, index, reasoning_bytes, text_bytes});
}

Status RunFollower::Sent(const Status& sent) {
  AG_RETURN_IF_ERROR(sent);
  next_beat_ = DeadlineAfter(options_.heartbeat);
  return Status::Ok();
}

}  // namespace agent_graph::api
