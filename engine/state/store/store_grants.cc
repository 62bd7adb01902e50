// Store: grants of accepted runs. The store reserves the thread's lease for a run, grants it to a
// client that takes runs, and grants it again, as a new attempt, when that client is lost or gives
// the run back.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "state/rules/lost_run.h"
#include "state/store/row_times.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// A client that did not begin a run, or gave it back, may get it again after this time, if no other
// client takes it.
constexpr std::chrono::seconds kGrantAgainAfter{1};
// Limits of one batch, which has a copy of the requests, and the pause in which they are sent.
constexpr size_t kGrantsAtOnce = 128;
constexpr size_t kGrantBytesAtOnce = 32 * 1024 * 1024;
constexpr std::chrono::milliseconds kGrantPause{50};
// Size of a grant without its texts.
constexpr size_t kGrantBytesMin = 256;

size_t BytesOf(const GrantedRun& run) {
  return kGrantBytesMin + run.thread_id.size() + run.run_id.size() + run.request.size();
}

}  // namespace

Status Store::Reserve(const keys::ThreadKey& thread, const BeginRunRequest& run,
                      Deadline deadline) {
  AG_CHECK(!leases_.contains(run.thread_id), "a thread is reserved while it has no lease");
  AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> row, FindThread(transaction_, run.thread_id));
  if (!row || row->key() != thread) return NotFound("thread not found");
  ThreadEditor editor(transaction_, thread);
  AG_RETURN_IF_ERROR(editor.TrimWindowTo(run.window_max.value_or(kWindowItemsMax)));
  AG_ASSIGN_OR_RETURN(const uint64_t log_begin, editor.NextLogIndex());
  editor.Save();
  Lease lease;
  lease.thread = thread;
  lease.accepted = true;
  lease.row.thread_id = run.thread_id;
  lease.row.run_id = run.run_id;
  lease.row.hosts.instance = database_.instance();
  lease.row.epoch = row->lease_epoch;  // each grant has an epoch of its own
  lease.row.current_node = kStartNode;
  lease.row.log_begin = log_begin;
  lease.waiting_since_micros = database_.Now();
  lease.deadline = deadline;
  lease.window_max = run.window_max.value_or(kWindowItemsMax);
  transaction_.PutRow(keys::Lease(thread), lease.row);
  leases_.emplace(run.thread_id, std::move(lease));
  next_ping_ = std::min(next_ping_, MonotonicClock::now() + kPingInterval);
  return Status::Ok();
}

void Store::StartAccepted(const Waiter& waiter) {
  Result<std::optional<ThreadRow>> thread = FindThread(transaction_, waiter.run.thread_id);
  Status status = thread.status();
  if (is_shared() && status.ok()) {
    // Another host may have ended the run, or deleted its thread; its notice arrives later.
    if (!*thread) return;
    const auto request =
        transaction_.GetRow<RunRequestRow>(keys::RunRequest((*thread)->key(), waiter.run.run_id));
    if (request.ok() && !*request) return;
    status = request.status();
  }
  if (status.ok() && !*thread) status = NotFound("thread not found");
  if (status.ok()) status = Reserve((*thread)->key(), waiter.run, waiter.deadline);
  if (status.ok()) {
    GrantOrWait(waiter.run.thread_id, {});
    transaction_.Accept(false);
    return;
  }
  transaction_.Reject();
  reports_.push_back({LogLevel::kAlert, "the accepted run " + waiter.run.run_id +
                                            " cannot start: " + status.ToString()});
  if (status.code() != StatusCode::kDataLoss || !thread.ok() || !*thread) return;
  EndUnexecuted(waiter.run.thread_id, (*thread)->key(), waiter.run.run_id, RunState::kError,
                kDamagedReason);
  changed_runs_.push_back(waiter.run.thread_id);
  transaction_.Accept(sync_ != SyncLevel::kNone);
}

const std::string* Store::ChooseClient(const Lease& lease, const std::string& preferred) const {
  const std::string* best = nullptr;
  std::pair<bool, size_t> least;
  for (const auto& [id, entry] : clients_) {
    // A suspect runs beside no other suspect, so that a crash shows which of them was the cause.
    if (!entry.CanTakeRun() || (lease.suspect && entry.suspects_granted > 0)) continue;
    if (id == preferred) return &id;
    const std::pair<bool, size_t> rank(id == lease.returned_by, entry.runs_granted);
    if (best != nullptr && rank >= least) continue;
    best = &id;
    least = rank;
  }
  return best;
}

// A host may have the lease of a run, but not its request yet, if it failed while it took both over
// from another one. Such a run has not been counted.
void Store::CountGrant(Lease& lease, bool granted) {
  if (!lease.accepted || lease.is_counted == granted) return;
  if (!granted) NoteBegun(lease);
  auto client = clients_.find(lease.row.client);
  lease.is_counted = granted && client != clients_.end();
  if (client == clients_.end()) return;
  const auto count = [granted](size_t& number) { granted ? ++number : --number; };
  AG_CHECK(granted || client->second.runs_granted > 0, "every granted run is counted");
  count(client->second.runs_granted);
  if (lease.suspect) count(client->second.suspects_granted);
}

void Store::NoteBegun(Lease& lease) {
  if (lease.unbegun_bytes == 0) return;
  const auto client = clients_.find(lease.row.client);
  const size_t bytes = std::exchange(lease.unbegun_bytes, 0);
  if (client == clients_.end()) return;
  AG_CHECK(client->second.unbegun_bytes >= bytes, "every grant begins once");
  client->second.unbegun_bytes -= bytes;
}

void Store::WaitForGrant(const std::string& thread_id, Deadline not_before) {
  const Deadline deadline = leases_.at(thread_id).deadline;
  ungranted_.Put(thread_id, {.not_before = not_before, .deadline = deadline});
  next_grant_ = std::min({next_grant_, not_before, deadline});
}

// A run that the next client returns as well waits: otherwise it would go to and fro without end.
void Store::GrantElsewhere(Lease& lease, const std::string& client) {
  const bool is_first = std::exchange(lease.returned_by, client).empty();
  const std::string* next = ChooseClient(lease, {});
  const bool elsewhere = is_first && next != nullptr && *next != client;
  WaitForGrant(lease.row.thread_id,
               MonotonicClock::now() + (elsewhere ? Duration(0) : Duration(kGrantAgainAfter)));
}

void Store::GrantOrWait(const std::string& thread_id, const std::string& preferred) {
  const auto now = MonotonicClock::now();
  if (ungranted_.HasDue(now) || !CanGrant()) return WaitForGrant(thread_id, now);
  GrantReserved(thread_id, preferred);
}

size_t Store::GrantReserved(const std::string& thread_id, const std::string& preferred) {
  Use(thread_id);
  const auto found = leases_.find(thread_id);
  if (found == leases_.end() || !IsOurs(found->second)) {
    ungranted_.Erase(thread_id);  // another host has ended it, or continues it
    return 0;
  }
  Lease& lease = found->second;
  const std::string* client = ChooseClient(lease, preferred);
  const Deadline again = MonotonicClock::now() + kGrantAgainAfter;
  if (client == nullptr) {
    WaitForGrant(thread_id, again);
    return 0;
  }
  const Status granted = StageGrant(lease, *client);
  if (granted.ok()) return lease.unbegun_bytes;
  reports_.push_back({LogLevel::kAlert, "the accepted run " + lease.row.run_id +
                                            " cannot be granted: " + granted.ToString()});
  if (granted.code() == StatusCode::kDataLoss) {
    EndReserved(thread_id, RunState::kError, kDamagedReason);
  } else {
    WaitForGrant(thread_id, again);
  }
  return 0;
}

Status Store::StageGrant(Lease& lease, const std::string& client) {
  const std::string& run_id = lease.row.run_id;
  const std::string record_key = keys::Run(lease.thread, run_id);
  AG_ASSIGN_OR_RETURN(std::optional<RunRow> run, transaction_.GetRow<RunRow>(record_key));
  AG_ASSIGN_OR_RETURN(std::optional<RunRequestRow> request,
                      transaction_.GetRow<RunRequestRow>(keys::RunRequest(lease.thread, run_id)));
  if (!run || !request) return DamagedState();
  ForgetAttempt(lease);
  ClientEntry& entry = clients_.at(client);
  lease.row.client = client;
  lease.row.process = entry.process;
  lease.row.process_start = entry.process_start;
  CountGrant(lease, true);
  ++lease.row.epoch;
  lease.row.deadline_micros = ToMonotonicTime(database_, request->accept.deadline_micros);
  RunRecord& record = run->record;
  if (++record.attempt > 1) CountRun(&RunTotals::continued);
  record.state = RunState::kRunning;
  if (record.started_micros == 0) {
    record.started_micros = database_.Now();
    record.log_begin = lease.row.log_begin;
  }
  lease.row.started_micros = record.started_micros;
  GrantedRun granted;
  granted.thread_id = lease.row.thread_id;
  granted.run_id = run_id;
  granted.attempt = record.attempt;
  granted.request = std::move(request->accept.request);
  granted.deadline_micros = ToUnixTime(database_, request->accept.deadline_micros);
  granted.lease_epoch = lease.row.epoch;
  if (run->has_appended) {
    granted.current_node = record.current_node;
    granted.step = record.step;
  }
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
  transaction_.PutRow(record_key, *run);
  lease.unbegun_bytes = BytesOf(granted);
  entry.unbegun_bytes += lease.unbegun_bytes;
  Notify(entry.connection, std::move(granted));
  changed_runs_.push_back(lease.row.thread_id);
  ungranted_.Erase(lease.row.thread_id);
  return Status::Ok();
}

// Resets the lease for the next attempt. Changes from outside are dropped from it, because the next
// attempt loads a state that contains them.
void Store::ForgetAttempt(Lease& lease) {
  if (lease.row.state_changed) {
    transaction_.Delete(keys::OutsideChange(lease.thread));
    transaction_.Delete(keys::RunBase(lease.thread));
  }
  CountGrant(lease, false);
  lease.is_lost = false;
  lease.outside.reset();
  lease.has_effects = false;
  lease.row.client.clear();
  lease.row.process = 0;
  lease.row.process_start = 0;
  lease.row.last_append = 0;
  lease.row.entries_logged = 0;
  lease.row.state_changed = false;
  lease.row.in_user_code = false;
}

// Increments a counter. If its row cannot be read, it starts from zero.
void Store::CountRun(uint64_t RunTotals::* counter) {
  const std::string key = keys::Meta(kRunTotalsName + database_.instance());
  Result<std::optional<RunTotals>> row = transaction_.GetRow<RunTotals>(key);
  RunTotals totals = row.ok() && *row ? **row : RunTotals();
  ++(totals.*counter);
  transaction_.PutRow(key, totals);
}

bool Store::TakesRuns() const {
  return std::ranges::any_of(clients_, [](const auto& client) {
    return client.second.takes_runs && client.second.connection != 0;
  });
}

// On a full disk a run could not begin: its worker would give it back, and each time the request is
// sent and rows are written.
bool Store::CanGrant() const {
  if (database_.low_on_space()) return false;
  return std::ranges::any_of(clients_,
                             [](const auto& client) { return client.second.CanTakeRun(); });
}

void Store::GrantRuns(MonotonicClock::time_point now) {
  if (ungranted_.next_deadline() <= now) {
    // The next batch grants runs: one that locked both in turn might block other hosts.
    EndUngrantedRuns(now);
    next_grant_ = now;
    return;
  }
  if (ungranted_.empty() || !TakesRuns()) {
    // Runs are granted when a client that takes runs connects.
    next_grant_ = ungranted_.next_deadline();
    return;
  }
  std::vector<std::string> due;
  if (CanGrant()) due = ungranted_.Due(now, kGrantsAtOnce);
  UseAll(due);  // together: hosts that lock the same threads in different orders would block
  size_t count = 0;
  size_t bytes = 0;
  for (const std::string& thread_id : due) {
    if (bytes >= kGrantBytesAtOnce || !CanGrant()) break;
    ++count;
    bytes += GrantReserved(thread_id, {});
    transaction_.Accept(sync_ != SyncLevel::kNone);
  }
  AdmitWaiters();  // of runs that could not be granted
  // The next batch follows at once, unless the clients have to take what was sent, or to begin it.
  const bool pauses = ungranted_.HasDue(now) && count < kGrantsAtOnce;
  const Duration pause = database_.low_on_space() ? Duration(kGrantAgainAfter) : kGrantPause;
  next_grant_ = std::min(pauses ? now + pause : ungranted_.next(), ungranted_.next_deadline());
}

Result<std::string> Store::StageNextAttempt(Lease& lease, Loss loss) {
  if (lease.is_damaged) return std::string(kDamagedReason);
  const std::string record_key = keys::Run(lease.thread, lease.row.run_id);
  AG_ASSIGN_OR_RETURN(std::optional<RunRow> run, transaction_.GetRow<RunRow>(record_key));
  AG_ASSIGN_OR_RETURN(
      const std::optional<RunRequestRow> request,
      transaction_.GetRow<RunRequestRow>(keys::RunRequest(lease.thread, lease.row.run_id)));
  if (!run || !request) return DamagedState();
  if (IsCrash(loss) && lease.row.in_user_code) {
    if (run->suspect && loss == Loss::kCrash) ++run->crashes_alone;
    if (run->suspect && loss == Loss::kCrashBeside) ++run->crashes_beside;
    run->suspect = true;
  }
  const int64_t now = database_.Now();
  if (lease.row.stop_requested) return std::string(kStoppedReason);
  if (run->crashes_alone >= kCrashesAloneMax || run->crashes_beside >= kCrashesBesideMax) {
    return std::string(kPoisoned);
  }
  const RunRecord& before = run->record;
  const bool has_advanced =
      lease.row.last_append > 0 &&
      (lease.row.step != before.step || lease.row.current_node != before.current_node);
  // A grant that may not even have arrived says nothing about the run, unless the worker crashed.
  const bool has_done_nothing =
      loss == Loss::kGivenBack || (loss == Loss::kLeft && !lease.has_begun());
  if (has_advanced) {
    run->attempts_in_place = 0;
  } else if (!has_done_nothing && loss != Loss::kHostGone) {
    ++run->attempts_in_place;
  }
  if (run->attempts_in_place >= kAttemptsInPlaceMax) return std::string(kTooManyAttempts);
  if (loss != Loss::kGivenBack && now > request->accept.continued_until_micros) {
    return std::string(kWorkerLost);
  }
  const int64_t deadline = request->accept.deadline_micros;
  if (deadline != 0 && now >= deadline) return std::string(kDeadlineReason);
  if (lease.row.last_append > 0) {
    ThreadEditor editor(transaction_, lease.thread);
    AG_ASSIGN_OR_RETURN(const Snapshot folded, FoldRun(lease, editor));
    editor.WriteSnapshot(folded);
    run->has_appended = true;
    lease.returned_by.clear();
    run->record.current_node = lease.row.current_node;
    run->record.step = lease.row.step;
  } else if (has_done_nothing && run->record.attempt > 0) {
    --run->record.attempt;
  }
  ForgetAttempt(lease);
  lease.suspect = run->suspect;
  lease.waiting_since_micros = now;
  lease.deadline = DeadlineOf(request->accept);
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
  transaction_.PutRow(record_key, *run);
  return std::string();
}

Result<ReplyRow> Store::HandOverRun(const ReplyAddress& from, const HandOverRunRequest& run) {
  auto found = leases_.find(run.thread_id);
  const bool holds = found != leases_.end() && found->second.accepted && !found->second.is_lost &&
                     found->second.row.client == from.client &&
                     found->second.row.run_id == run.run_id &&
                     (run.lease_epoch == 0 || found->second.row.epoch == run.lease_epoch);
  if (!holds) return ReplyRow{};
  Lease& lease = found->second;
  Result<std::string> none = StageNextAttempt(lease, Loss::kGivenBack);
  if (!none.ok() || !none->empty()) {
    transaction_.Reject();
    // The client has forgotten the run, so the thread must not stay locked.
    StageEndOfLostRun(lease, none.ok() ? *none : std::string(kEndNotStored));
    EndLease(run.thread_id);
    return ReplyRow{};
  }
  GrantElsewhere(lease, from.client);
  return ReplyRow{};
}

void Store::NoticeWatched(const RunWatched& watched) {
  const auto lease = leases_.find(watched.thread_id);
  if (lease == leases_.end() || lease->second.row.run_id != watched.run_id) return;
  const auto client = clients_.find(lease->second.row.client);
  if (client == clients_.end()) return;
  if (client->second.connection != 0) Notify(client->second.connection, watched);
}

}  // namespace agent_graph::state
