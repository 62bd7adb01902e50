#include "api/stream/run_follower.h"

#include <algorithm>
#include <utility>

#include "runtime/signal.h"

namespace agent_graph::api {
namespace {

// Entries before a cursor that are read to know the step and the attempt there.
constexpr uint64_t kLookBack = 64;
// A live run reports entries that the state server answers with at once.
constexpr std::chrono::milliseconds kCatchUpWait{1000};
// Failed reads of the log in a row, after which the stream ends.
constexpr int kFailuresMax = 30;

bool IsWorthARetry(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kResourceExhausted;
}

}  // namespace

RunFollower::RunFollower(state::Service& state, FindLiveRun find_live, FollowedRun followed,
                         FollowerOptions options, const runtime::Cancellation& cancellation)
    : state_(state),
      find_live_(std::move(find_live)),
      followed_(std::move(followed)),
      options_(options),
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
    next_ = record_.log_begin;
    // A queued run has no place in the log yet.
    const bool is_queued = record_.state == state::RunState::kQueued;
    if (!is_queued && reply.kept_from > next_) place = Place::kCutAway;
  }
  if (place != Place::kFound) return place;
  AG_ASSIGN_OR_RETURN(const state::ThreadRecord thread,
                      state_.GetThread(followed_.scope, followed_.thread_id));
  run::RunStart start;
  start.thread_id = followed_.thread_id;
  start.run_id = followed_.run_id;
  start.is_new_thread = thread.created_micros >= record_.created_micros;
  writer_.emplace(start);
  return place;
}

// Reads the entries before the cursor, too: the last one must be one that the reader has.
Result<RunFollower::Place> RunFollower::FindPlace(const run::Cursor& after) {
  state::FollowRunRequest probe{followed_.scope, followed_.thread_id, followed_.run_id};
  probe.first = after.index - std::min(after.index, kLookBack);
  probe.entries_max = kLookBack;
  AG_ASSIGN_OR_RETURN(state::FollowRunReply reply, state_.FollowRun(probe, &cancellation_));
  record_ = std::move(reply.run);
  if (after.thread_number != record_.thread_number) return Place::kOtherThread;
  next_ = std::max(after.index, record_.log_begin);
  if (reply.kept_from > next_) return Place::kCutAway;
  const bool is_behind_end =
      std::erase_if(reply.entries, [&](const auto& entry) { return entry.index >= next_; }) == 0 &&
      reply.complete;
  const bool reached = !reply.entries.empty() && reply.entries.back().index + 1 == next_;
  const uint64_t epoch = reply.entries.empty() ? 0 : reply.entries.back().lease_epoch;
  for (const state::IndexedEntry& indexed : reply.entries) {
    lease_epoch_ = std::max(lease_epoch_, indexed.lease_epoch);
    const std::optional<run::EntryBody> body = run::Decode(indexed.entry);
    const auto* started = body ? std::get_if<run::entry::NodeStarted>(&*body) : nullptr;
    if (started != nullptr) step_ = static_cast<int>(started->step);
  }
  const bool is_start = next_ == record_.log_begin || next_ == reply.kept_from;
  if (epoch > after.lease_epoch || (!reached && !is_start && !is_behind_end)) {
    // The power failed before the entries of that attempt were synced, so others follow.
    lost_epoch_ = after.lease_epoch;
    next_ = std::max(record_.log_begin, reply.kept_from);
    return Place::kFound;
  }
  // The last entry may have a line, before `done`: the cursor of `done` differs from its cursor.
  if (is_behind_end && (!reached || after.text_bytes > 0)) return Place::kBehindEnd;
  parts_.Resume(after);
  return Place::kFound;
}

Status RunFollower::Follow(FollowerOutput& output) {
  output_ = &output;
  next_beat_ = DeadlineAfter(options_.heartbeat);
  if (lost_epoch_) AG_RETURN_IF_ERROR(ShowReset(""));
  while (!complete_) {
    AG_RETURN_IF_ERROR(BeatIfDue());
    const std::shared_ptr<const run::LiveRun> live = FindLive();
    Status status = live != nullptr ? FollowLive(live) : ReadLog(UntilBeat());
    if (status.code() == StatusCode::kNotFound) return ShowDone();
    if (!status.ok()) AG_RETURN_IF_ERROR(AwaitRetry(std::move(status)));
  }
  return ShowDone();
}

std::shared_ptr<const run::LiveRun> RunFollower::FindLive() const {
  if (!find_live_) return nullptr;
  std::shared_ptr<const run::LiveRun> live = find_live_();
  return live == left_ ? nullptr : live;
}

Status RunFollower::FollowLive(const std::shared_ptr<const run::LiveRun>& live) {
  MessagePart latest;
  if (parts_.latest() != nullptr) latest = *parts_.latest();
  const run::LiveRun::View view =
      live->Read(latest.message_id, latest.reasoning_bytes, latest.text_bytes);
  if (view.ended) left_ = live;
  if (view.ended || view.log_end > next_) return ReadLog(view.ended ? UntilBeat() : kCatchUpWait);
  if (view.partial) {
    const size_t parts = parts_.size();
    AG_RETURN_IF_ERROR(ResetVoid(view.lease_epoch));
    if (parts_.size() != parts) return Status::Ok();  // the view may leave out what was void
    AG_RETURN_IF_ERROR(ShowPartial(view, latest.message_id));
  }
  const Status waited = live->Await(view.version, cancellation_, next_beat_);
  if (waited.code() != StatusCode::kDeadlineExceeded) return waited;
  // The thread may have been deleted, or the run granted to another worker.
  return ReadLog(std::chrono::milliseconds(0));
}

Status RunFollower::ReadLog(std::chrono::milliseconds wait) {
  state::FollowRunRequest read{followed_.scope, followed_.thread_id, followed_.run_id};
  read.first = next_;
  read.wait_ms = std::clamp<int64_t>(wait.count(), 0, state::kFollowWaitMsMax);
  AG_ASSIGN_OR_RETURN(state::FollowRunReply reply, state_.FollowRun(read, &cancellation_));
  failures_ = 0;
  record_ = std::move(reply.run);
  for (const state::IndexedEntry& indexed : reply.entries) {
    next_ = indexed.index;
    AG_RETURN_IF_ERROR(ShowEntry(indexed));
    next_ = indexed.index + 1;
  }
  complete_ = reply.complete;
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
  return output_->SendHeartbeat();
}

std::chrono::milliseconds RunFollower::UntilBeat() const {
  // Rounded up, so that the wait does not end just before the heartbeat is due.
  return std::chrono::ceil<std::chrono::milliseconds>(next_beat_ - MonotonicClock::now());
}

std::string RunFollower::CursorAt(uint64_t index, uint64_t reasoning_bytes,
                                  uint64_t text_bytes) const {
  return run::CursorText({record_.thread_number, lease_epoch_, index, reasoning_bytes, text_bytes});
}

Status RunFollower::Send(std::string_view event, const std::string& cursor, std::string_view line) {
  AG_RETURN_IF_ERROR(output_->Send({event, cursor, line}));
  next_beat_ = DeadlineAfter(options_.heartbeat);
  return Status::Ok();
}

}  // namespace agent_graph::api
