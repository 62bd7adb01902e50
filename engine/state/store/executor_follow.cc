// StoreExecutor: requests that wait until a run goes on, and the pieces of its message.
#include <algorithm>
#include <chrono>
#include <utility>

#include "state/store/executor.h"

namespace agent_graph::state {
namespace {

// How long a run counts as watched after a request's wait: the client soon asks again.
constexpr std::chrono::milliseconds kWatchLinger{2000};
// Accuracy of the waits of FollowRun. There may be tens of thousands, which are all examined.
constexpr std::chrono::milliseconds kOverdueInterval{250};

Status MalformedRequest() {
  return Status(StatusCode::kInvalidArgument, "malformed state operation");
}

bool HasNews(const WatchRunRequest& known, const WatchRunReply& reply) {
  if (reply.ended || reply.lease_epoch != known.lease_epoch || reply.log_end != known.log_end) {
    return true;
  }
  if (!reply.piece) return false;
  const MessagePiece& piece = *reply.piece;
  return piece.message_id != known.message_id || !piece.text.empty() || !piece.reasoning.empty();
}

}  // namespace

struct StoreExecutor::Waiting {
  Followers& followers;
  const std::string& thread_id;
  Deadline until;
  // Reads the packed reply; nullopt, unless it is the last time: wait.
  std::function<Result<std::optional<std::string>>(bool is_last)> read;
};

bool StoreExecutor::WaitsForRuns(Operation operation) {
  return operation == Operation::kFollowRun || operation == Operation::kWatchRun;
}

std::optional<Result<std::string>> StoreExecutor::ExecuteWaiting(ReadItem& item) {
  const auto deadline = [&](int64_t wait_ms) {
    const std::chrono::milliseconds wait(std::clamp<int64_t>(wait_ms, 0, kFollowWaitMsMax));
    return item.parked_until.value_or(DeadlineAfter(wait));
  };
  pack::Unpacker unpacker = item.request.body();
  if (item.request.header.operation == Operation::kWatchRun) {
    WatchRunRequest watch;
    if (!pack::TryUnpack(unpacker, watch)) return MalformedRequest();
    const Deadline until = deadline(watch.wait_ms);
    return AnswerOrPark(item, {watchers_, watch.thread_id, until,
                               [&](bool is_last) { return ReadNews(watch, until, is_last); }});
  }
  FollowRunRequest follow;
  if (!pack::TryUnpack(unpacker, follow)) return MalformedRequest();
  const auto read = [&](bool is_last) -> Result<std::optional<std::string>> {
    AG_ASSIGN_OR_RETURN(const FollowRunReply reply, reader_.Follow(follow));
    if (reply.entries.empty() && !reply.complete && !is_last) return std::optional<std::string>();
    return std::optional(pack::ToBytes(reply));
  };
  return AnswerOrPark(item, {followers_, follow.thread_id, deadline(follow.wait_ms), read});
}

std::optional<Result<std::string>> StoreExecutor::AnswerOrPark(ReadItem& item,
                                                               const Waiting& waiting) {
  for (;;) {
    const uint64_t version = waiting.followers.Begin(waiting.thread_id);
    Result<std::optional<std::string>> reply =
        waiting.read(MonotonicClock::now() >= waiting.until || stopping_);
    if (!reply.ok() || *reply) {
      waiting.followers.End(waiting.thread_id);
      if (!reply.ok()) return reply.status();
      return **std::move(reply);
    }
    // Copied first: another thread may take the request as soon as it is parked.
    const std::shared_ptr<ClientConnection> connection = item.request.connection;
    const uint64_t sequence = item.request.header.sequence;
    const size_t bytes = item.request.bytes.size();
    const bool first_time = !item.parked_until;
    // Before the request is parked, so that it does not arrive after the reply.
    if (first_time) connection->Send(Queued{sequence});
    Followers::Parked parked{std::move(item.request), waiting.until};
    const Followers::Outcome outcome = waiting.followers.Park(waiting.thread_id, version, parked);
    waiting.followers.End(waiting.thread_id);
    if (outcome == Followers::Outcome::kParked) {
      if (first_time) connection->Executed(bytes);
      return std::nullopt;
    }
    item.request = std::move(parked.request);
    if (outcome == Followers::Outcome::kFull) {
      return Status(StatusCode::kResourceExhausted, "too many clients follow runs");
    }
  }
}

Result<std::optional<std::string>> StoreExecutor::ReadNews(const WatchRunRequest& watch,
                                                           Deadline until, bool is_last) {
  const RunWatches::Key run(watch.thread_id, watch.run_id);
  if (const std::optional<WatchRunReply> next = watches_.Continue(watch)) {
    watches_.Join(run, watch.lease_epoch, until + kWatchLinger);
    return std::optional(pack::ToBytes(*next));
  }
  const uint64_t changes = watches_.ChangesOf(run);
  // The piece is read before the progress, so that the progress counts all entries that precede the
  // message of the piece.
  std::optional<RunWatches::Kept> kept = watches_.Find(watch);
  AG_ASSIGN_OR_RETURN(WatchRunReply reply, reader_.Watch(watch));
  if (kept && kept->lease_epoch == reply.lease_epoch) reply.piece = std::move(kept->piece);
  if (!reply.ended) {
    const auto new_watch = watches_.Join(run, reply.lease_epoch, until + kWatchLinger);
    if (new_watch) {
      NoticeWatched(run, *new_watch);
      OnWatched();
    }
    watches_.NoteRead(run, changes, reply);
  }
  if (!is_last && !HasNews(watch, reply)) return std::optional<std::string>();
  return std::optional(pack::ToBytes(reply));
}

Result<std::string> StoreExecutor::ExecutePublish(const Request& request) {
  PublishPieceRequest publish;
  pack::Unpacker unpacker = request.body();
  if (!pack::TryUnpack(unpacker, publish)) return MalformedRequest();
  const PublishPieceReply reply = watches_.Publish(publish);
  if (reply.watched) Resume(watchers_.TakeChanged({publish.thread_id}));
  if (reply.watched && !reply.full) OnPiece(publish);
  return pack::ToBytes(reply);
}

// The write thread knows which client executes the run.
void StoreExecutor::NoticeWatched(const RunWatches::Key& run, uint64_t watch) {
  WriteItem item;
  item.kind = WriteItem::Kind::kWatched;
  item.watched = {run.first, run.second, watch};
  writes_.Push(std::move(item));
}

void StoreExecutor::Resume(std::vector<Followers::Parked> parked) {
  for (Followers::Parked& one : parked) {
    ReadItem item;
    item.request = std::move(one.request);
    item.parked_until = one.deadline;
    reads_.Push(std::move(item));
  }
}

void StoreExecutor::ResumeChanged(const std::vector<std::string>& thread_ids) {
  if (!watches_.empty()) watches_.NoteChanged(thread_ids);
  if (!followers_.empty()) Resume(followers_.TakeChanged(thread_ids));
  if (!watchers_.empty()) Resume(watchers_.TakeChanged(thread_ids));
}

void StoreExecutor::ResumeWatchers(const std::vector<std::string>& thread_ids) {
  Resume(watchers_.TakeChanged(thread_ids));
}

void StoreExecutor::WatchFromOutside(const RunWatches::Key& run, uint64_t lease_epoch,
                                     Deadline until) {
  if (const auto watch = watches_.Join(run, lease_epoch, until)) NoticeWatched(run, *watch);
}

void StoreExecutor::ResumeOverdue() {
  const auto now = MonotonicClock::now();
  if (now < next_overdue_) return;
  next_overdue_ = now + kOverdueInterval;
  if (!followers_.empty()) Resume(followers_.TakeOverdue(now));
  if (!watchers_.empty()) Resume(watchers_.TakeOverdue(now));
  if (!watches_.empty()) watches_.Expire(now);
}

}  // namespace agent_graph::state
