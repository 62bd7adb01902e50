// Store: runs, and the leases that allow one run at a time on a thread.
#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "state/requests.h"
#include "state/rules/lost_run.h"
#include "state/rules/run_state.h"
#include "state/rules/scope.h"
#include "state/rules/stored_json.h"
#include "state/store/store.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

constexpr int64_t kWaitMsMax = int64_t{24} * 3600 * 1000;  // as in the settings
constexpr int64_t kRunMsMax = int64_t{1000} * 3'600'000;

Status ThreadExists() {
  return Status(StatusCode::kConflict, "a thread with this id already exists");
}

bool Holds(const Lease& lease, const std::string& client, const std::string& run_id) {
  return !lease.is_lost && lease.row.client == client && lease.row.run_id == run_id;
}

// 0: not known.
bool IsOf(uint64_t lease_epoch, const LeaseRow& row) {
  return lease_epoch == 0 || lease_epoch == row.epoch;
}

ReplyRow AnswerOf(const BeginRunRequest& run, const LeaseRow& lease, const keys::ThreadKey& thread,
                  uint64_t remote_tools_version) {
  ReplyRow reply;
  reply.load = ReplyRow::Load::kBeginRun;
  reply.thread_id = lease.thread_id;
  reply.thread_number = thread.number;
  reply.created = lease.created_thread;
  reply.lease_epoch = lease.epoch;
  reply.remote_tools_version = remote_tools_version;
  reply.reply_bytes_max = run.reply_bytes_max;
  reply.known_window = run.known_window;
  return reply;
}

// Builds the reply for a thread that was just created, without reading any rows.
ReplyRow AnswerOfCreated(const LeaseRow& lease, const ThreadRow& thread,
                         uint64_t remote_tools_version) {
  BeginRunReply answer;
  answer.created = true;
  answer.lease_epoch = lease.epoch;
  answer.remote_tools_version = remote_tools_version;
  answer.state.record = thread.Record(lease.thread_id);
  answer.thread_number = thread.number;
  answer.window_version = CountersRow().window_version();
  ReplyRow reply;
  reply.body = pack::ToBytes(answer);
  return reply;
}

// Takes out the entries that no earlier append of the run has written.
std::vector<LogEntry> TakeNewEntries(const LeaseRow& lease, AppendRunRequest& append) {
  const uint64_t first = append.first_entry.value_or(lease.entries_logged);
  const uint64_t known = lease.entries_logged - std::min(lease.entries_logged, first);
  const auto skipped = static_cast<ptrdiff_t>(std::min<uint64_t>(known, append.entries.size()));
  append.entries.erase(append.entries.begin(), append.entries.begin() + skipped);
  return std::exchange(append.entries, {});
}

// A request with the same run id that was sent after the stop is another one.
bool WasStopped(const ThreadRow& thread, const Waiter& begin) {
  return begin.sent_micros != 0 &&
         std::ranges::any_of(thread.stopped_runs, [&](const StoppedRun& stopped) {
           return stopped.run_id == begin.run.run_id && stopped.micros >= begin.sent_micros;
         });
}

ReplyRow AnswerOfAppend(const LeaseRow& lease) {
  ReplyRow reply;
  reply.body = pack::ToBytes(AppendRunReply{lease.stop_requested});
  return reply;
}

}  // namespace

Status Store::CheckQueue(const Lease& lease, const BeginRunRequest& run) const {
  if (run.new_thread_only) return ThreadExists();
  if (!InScope(run.scope, lease.thread.owner)) {
    return Status(StatusCode::kPermissionDenied, "the thread belongs to another user");
  }
  if (lease.row.run_id == run.run_id || IsQueued(lease, run.run_id) ||
      IsQueuedElsewhere(lease, run.run_id)) {
    return Status(StatusCode::kConflict, "a run with this id is already in flight on this thread");
  }
  // The queue of all hosts; the one of this host if there are no others.
  const auto queued =
      static_cast<size_t>(std::ranges::count(lease.row.hosts.queue, false, &QueuedRun::is_stopped));
  const size_t waiting = std::max(lease.waiters.size(), queued);
  if (!run.enqueue_if_busy || waiting >= run.queue_max) {
    return Status(StatusCode::kBusy, "the thread has a run in flight");
  }
  if (waiters_ >= kWaitersMax) {
    return Status(StatusCode::kResourceExhausted, "too many runs wait for busy threads");
  }
  return Status::Ok();
}

void Store::BeginRun(Waiter begin) {
  if (begin.run.run_ms_max > 0) {
    begin.run_deadline_micros =
        MonotonicMicros(MonotonicClock::now()) + std::min(begin.run.run_ms_max, kRunMsMax) * 1000;
  }
  auto found = leases_.find(begin.run.thread_id);
  const bool holds =
      found != leases_.end() && Holds(found->second, begin.from.client, begin.run.run_id);
  const bool holds_grant = holds && IsOf(begin.run.granted_epoch, found->second.row);
  if (begin.run.granted && !holds_grant) return Refuse(begin.from, Fenced());
  if (found == leases_.end()) return Start(begin);
  Lease& lease = found->second;
  if (holds) {
    NoteBegun(lease);
    return Accept(begin.from, Operation::kBeginRun,
                  AnswerOf(begin.run, lease.row, lease.thread, remote_tools_version_),
                  /*sync=*/false);
  }
  if (Status left = LeaveOldPlace(lease, begin.run.run_id); !left.ok()) {
    transaction_.Accept(false);
    return Refuse(begin.from, std::move(left));
  }
  if (Status status = CheckQueue(lease, begin.run); !status.ok()) {
    return Refuse(begin.from, std::move(status));
  }
  begin.deadline = DeadlineAfter(
      std::chrono::milliseconds(std::clamp<int64_t>(begin.run.wait_ms_max, 0, kWaitMsMax)));
  next_waiter_ = std::min(next_waiter_, begin.deadline);
  replies_.push_back({.to = begin.from, .queued = true, .before_sync = true});
  const bool interrupts = begin.run.interrupt_if_busy;
  const std::string thread_id = begin.run.thread_id;
  Enqueue(lease, std::move(begin));
  if (interrupts) StopHolder(thread_id, /*cancel=*/true);
  // An accepted run that was stopped must not go on after a power cut.
  transaction_.Accept(interrupts && sync_ != SyncLevel::kNone);
  AdmitWaiters();
}

void Store::Start(const Waiter& begin) {
  Result<ReplyRow> reply = Grant(begin);
  if (reply.ok()) {
    // The client keeps the window of the run before this one when that has ended. Without the reply
    // about that end, this run would have to load all of the window.
    return Accept(begin.from, Operation::kBeginRun, std::move(*reply), begin.follows_own_run);
  }
  transaction_.Reject();
  Refuse(begin.from, reply.status());
}

Result<ReplyRow> Store::Grant(const Waiter& begin) {
  const BeginRunRequest& run = begin.run;
  AG_CHECK(!leases_.contains(run.thread_id), "a thread has one lease at a time");
  auto client = clients_.find(begin.from.client);
  if (client == clients_.end())
    return Status(StatusCode::kUnavailable, "the client has disconnected");
  if (run.new_thread_only) {
    AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> existing, FindThread(transaction_, run.thread_id));
    if (existing) return ThreadExists();
    transaction_.NoteAbsent(keys::Thread(run.thread_id));
  }
  bool created = false;
  AG_ASSIGN_OR_RETURN(ThreadRow thread, WritableThread(run.scope,
                                                       {run.thread_id, run.user_id, run.creation_id,
                                                        run.thread_name, begin.micros},
                                                       created));
  if (WasStopped(thread, begin)) return RunWasStopped();
  uint64_t log_begin = CountersRow().next_log_index;
  std::optional<KnownWindow> window;
  if (created) {
    // The end of the run reads these rows; a new thread has none of them.
    transaction_.NoteAbsent(keys::Counters(thread.key()));
    transaction_.NoteAbsent(keys::Window(thread.key()));
    transaction_.NoteAbsent(keys::Pause(thread.key()));
  } else {
    ThreadEditor editor(transaction_, thread.key());
    AG_RETURN_IF_ERROR(editor.TrimWindowTo(run.window_max.value_or(kWindowItemsMax)));
    AG_ASSIGN_OR_RETURN(log_begin, editor.NextLogIndex());
    AG_ASSIGN_OR_RETURN(window, editor.WholeWindow());
    editor.Save();
  }

  Lease lease;
  lease.thread = thread.key();
  lease.row.thread_id = run.thread_id;
  lease.row.client = begin.from.client;
  lease.row.process = client->second.process;
  lease.row.process_start = client->second.process_start;
  lease.row.run_id = run.run_id;
  lease.row.hosts.instance = database_.instance();
  lease.row.epoch = thread.lease_epoch + 1;
  lease.row.created_thread = created;
  lease.row.current_node = kStartNode;
  lease.row.deadline_micros = begin.run_deadline_micros;
  lease.row.started_micros = std::max(begin.micros, begin.begun_micros);
  if (begin.begun_micros != 0) lease.row.hosts.asked_micros = begin.micros;
  lease.row.log_begin = log_begin;
  lease.window_max = run.window_max.value_or(kWindowItemsMax);
  lease.begun_window = std::move(window);
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
  if (created) {
    RememberLease(lease.row, thread);
    TouchThread(transaction_, run.thread_id, thread, begin.micros);
  }
  ReplyRow reply = created ? AnswerOfCreated(lease.row, thread, remote_tools_version_)
                           : AnswerOf(run, lease.row, lease.thread, remote_tools_version_);
  leases_.emplace(run.thread_id, std::move(lease));
  next_ping_ = std::min(next_ping_, MonotonicClock::now() + kPingInterval);
  return reply;
}

Result<Lease*> Store::FencedLease(const ReplyAddress& from, const AppendRunRequest& append) {
  auto found = leases_.find(append.thread_id);
  if (found == leases_.end() || !Holds(found->second, from.client, append.run_id) ||
      found->second.row.epoch != append.lease_epoch) {
    return Fenced();
  }
  // Appends come in order, and all entries before this one were acknowledged.
  if (is_shared() && append.first_entry.value_or(0) > found->second.row.entries_logged) {
    EndLostHistory(append.thread_id);
    return Fenced();
  }
  return &found->second;
}

Status Store::ApplyAppend(Lease& lease, ThreadEditor& editor, AppendRunRequest& append,
                          int64_t micros) {
  std::vector<LogEntry> entries = TakeNewEntries(lease.row, append);
  NoteEffects(lease, entries);
  AG_RETURN_IF_ERROR(editor.AppendLog(std::move(entries), lease.row.epoch, micros));
  lease.log_bytes += editor.logged_bytes();
  AG_RETURN_IF_ERROR(TrimLog(lease.thread, editor, micros));
  changed_runs_.push_back(lease.row.thread_id);
  AG_RETURN_IF_ERROR(AddRunMessages(lease, editor, append.messages));
  // An append beside the run's log does not know the place that the run has reached.
  if (!append.current_node.empty()) {
    lease.row.current_node = append.current_node;
    lease.row.step = append.step;
    lease.row.in_user_code = append.in_user_code;
  }
  return Status::Ok();
}

Result<ReplyRow> Store::AppendRun(const ReplyAddress& from, AppendRunRequest& append,
                                  int64_t micros) {
  AG_ASSIGN_OR_RETURN(Lease * lease, FencedLease(from, append));
  // Several appends of a run may be in flight; they arrive, and are resent, in order.
  if (from.sequence <= lease->row.last_append) return AnswerOfAppend(lease->row);
  const uint64_t brought = append.first_entry.value_or(0) + append.entries.size();
  ThreadEditor editor(transaction_, lease->thread);
  AG_RETURN_IF_ERROR(ApplyAppend(*lease, editor, append, micros));
  editor.Save();
  if (!append.metadata_json.empty()) {
    AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> thread,
                        FindThread(transaction_, append.thread_id));
    if (!thread) return Fenced();
    AG_ASSIGN_OR_RETURN(thread->metadata_json,
                        MergeJsonObjects(thread->metadata_json, append.metadata_json, "metadata"));
    TouchThread(transaction_, append.thread_id, *thread, micros);
  }
  lease->row.last_append = from.sequence;
  if (append.first_entry) lease->row.entries_logged = std::max(lease->row.entries_logged, brought);
  transaction_.PutRow(keys::Lease(lease->thread), lease->row);
  return AnswerOfAppend(lease->row);
}

Result<ReplyRow> Store::ReleaseRun(const ReplyAddress& from, const ReleaseRunRequest& release) {
  auto found = leases_.find(release.thread_id);
  if (found == leases_.end()) return ReplyRow{};
  if (Holds(found->second, from.client, release.run_id)) {
    if (!IsOf(release.lease_epoch, found->second.row)) return ReplyRow{};
    if (found->second.accepted) {
      return HandOverRun(from, {release.thread_id, release.run_id, release.lease_epoch});
    }
    // The thread must not stay locked if its rows cannot be read.
    if (!StageReleased(found->second).ok()) transaction_.Reject();
    EndLease(release.thread_id);
    return ReplyRow{};
  }
  const size_t left = std::erase_if(found->second.waiters, [&](const Waiter& waiter) {
    return waiter.from.client == from.client && waiter.run.run_id == release.run_id;
  });
  waiters_ -= left;
  if (left > 0) SaveQueue(found->second);
  return ReplyRow{};
}

// If the end of a run cannot be stored, the run must not appear as not executed: the next run would
// continue from the stored state and repeat its work.
Status Store::StageReleased(const Lease& lease) {
  if (lease.row.last_append > 0) return StageLostRun(lease, kEndNotStored);
  AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> thread,
                      FindThread(transaction_, lease.row.thread_id));
  if (!thread) return Status::Ok();
  RememberLease(lease.row, *thread);
  SaveThread(transaction_, lease.row.thread_id, *thread);
  return Status::Ok();
}

void Store::EndLease(const std::string& thread_id) {
  auto found = leases_.find(thread_id);
  if (found == leases_.end()) return;
  transaction_.Delete(keys::Lease(found->second.thread));
  if (found->second.accepted) {
    transaction_.Delete(keys::RunRequest(found->second.thread, found->second.row.run_id));
  }
  if (found->second.outside) {
    transaction_.Delete(keys::OutsideChange(found->second.thread));
    transaction_.Delete(keys::RunBase(found->second.thread));
  }
  DropLease(thread_id);
}

Status Store::StageLostRun(const Lease& lease, const std::string& reason) {
  const int64_t micros = database_.Now();
  ThreadEditor editor(transaction_, lease.thread);
  AG_RETURN_IF_ERROR(editor.AppendLog(
      LostRunEntries(lease.row.run_id, lease.row.current_node, lease.row.step, reason, micros),
      lease.row.epoch, micros));
  AG_RETURN_IF_ERROR(StageLostState(lease, editor, reason));
  AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> thread,
                      FindThread(transaction_, lease.row.thread_id));
  const std::string previous_run = thread ? thread->last_run_id : std::string();
  AG_RETURN_IF_ERROR(
      StageRecord(lease, editor, previous_run, {StateOfLostRun(reason), reason, "{}", micros}));
  editor.Save();
  if (!thread) return Status::Ok();
  RememberLease(lease.row, *thread);
  TouchThread(transaction_, lease.row.thread_id, *thread, micros);
  return Status::Ok();
}

}  // namespace agent_graph::state
