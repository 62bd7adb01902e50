// Executes the mutating operations: threads, runs and their leases, exactly once per client.
//
// Used only by the executor's write thread. Operations are applied one after the other to a shared
// transaction. Commit writes the batch and returns the replies only afterwards, so nothing is
// acknowledged before it is written. Leases, waiting runs and clients are kept in memory and in
// rows; Load rebuilds the memory from the rows after a takeover.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "state/calls/executor.h"
#include "state/limits.h"
#include "state/options.h"
#include "state/requests.h"
#include "state/rows/database.h"
#include "state/rows/rows.h"
#include "state/rows/transaction.h"
#include "state/rules/fold.h"
#include "state/runs.h"
#include "state/store/clients.h"
#include "state/store/lease.h"
#include "state/store/memory_writer.h"
#include "state/store/run_end.h"
#include "state/store/store_output.h"
#include "state/store/trial.h"
#include "state/store/ungranted_runs.h"
#include "state/thread/sweep.h"
#include "state/thread/threads.h"

namespace agent_graph::state {

// Not thread-safe; see above. Calls may block on the disk.
class Store {
 public:
  // Maximum number of runs that wait for busy threads, and of accepted runs that wait for a worker.
  static constexpr size_t kWaitersMax = 65'536;
  // The store's own work on many runs goes on with the next batch when it has written this much.
  static constexpr size_t kPortionBytesMax = size_t{8} * 1024 * 1024;
  // `current_node` of a run before its first append.
  static constexpr char kStartNode[] = "START";

  Store(Database& database, const StateOptions& options);

  Status Load();

  // A client has sent Hello on a connection. Releases its leases of runs that it no longer holds.
  // Requests that it sent on earlier connections have no effect from then on.
  void Connect(const ClientHello& hello, uint64_t connection);
  // The client's connection has closed.
  void Disconnect(const std::string& client, uint64_t connection);
  // The client disconnects for good: its runs end and its replies are dropped.
  void Leave(const std::string& client, uint64_t connection);
  // The client takes no further accepted runs.
  void RefuseGrants(const std::string& client, uint64_t connection);
  // The client has answered a ping.
  void OnPong(const std::string& client, uint64_t connection);

  // --- a database that several hosts write; see Database::instance ---

  // Call after Database::Prepare: updates the leases in memory from their rows in `use`.
  void SyncLeases(const BatchUse& use);
  // Call after SyncLeases at the beginning of a batch: starts runs whose turn has come, and ends
  // the requests of those that other hosts have asked to stop.
  void StartHandedOver();
  // Adds the threads whose runs wait here for the end of a run at another host, and those whose
  // lost leases end in this batch.
  void AddAwaited(MonotonicClock::time_point now, BatchUse& use);
  // Adds the threads that TakeOver will use: all hosts lock those of a batch at once, in one order.
  void AddTakenOver(const std::string& instance, uint64_t first, BatchUse& use);
  // Continues or ends some runs of an instance that has died: of those that wait, the ones from the
  // number `first` on. Returns this number for the next batch; nullopt: no run is left.
  std::optional<uint64_t> TakeOver(const std::string& instance, uint64_t first);
  // Another host has sent a notice; see HostNotice.
  void OnHostNotice(const HostNotice& notice);
  // After a restore of the database: ends runs of an instance that is dead, some at a time, because
  // they may have gone on in the history that was lost. Returns how many; 0: none are left.
  Result<size_t> EndRunsOf(const std::string& instance);

  // A trial executes requests of a batch that began with Database::Assume, so that their effect in
  // memory can be undone (store_trial.cc). False: the effect of some requests cannot be undone.
  bool CanTry(const BatchUse& use) const;
  // Call after Assume. False: a lease has changed since the database knew its row.
  bool KnowsLeases(const BatchUse& use) const;
  void BeginTrial(const BatchUse& use, const std::vector<std::string>& clients);
  // Call after the Commit: keeps the effect, or undoes it if the commit was refused.
  void EndTrial(bool committed);

  // Executes one mutating request. Commit returns the reply, now or (Begin on a busy thread) later.
  // `body` is positioned at the operation's body.
  void Apply(const ReplyAddress& from, const RequestHeader& header, pack::Unpacker& body);

  // Ends expired waits, releases leases of lost processes, removes old clients.
  void Tick(MonotonicClock::time_point now);
  // Time of the next call of Tick.
  Deadline next_tick() const {
    return std::min({next_waiter_, next_client_check_, next_expiry_, next_ping_, next_grant_,
                     next_key_expiry_, next_indexing_, next_await_, next_loss_});
  }
  // See RunTotals; may be read by any thread.
  const std::atomic<int64_t>& longest_wait_micros() const { return longest_wait_micros_; }
  // Deletes a portion of the rows of deleted threads and of cut logs. Housekeeping does it in a
  // database that several hosts write.
  void Sweep();
  bool wants_sweep() const { return (wants_sweep_ || has_new_markers_) && !is_shared(); }
  using Notice = StoreNotice;
  using Report = StoreReport;
  // Bytes that Commit would write.
  size_t batch_bytes() const { return transaction_.bytes(); }
  // Passes it to the client that executes the run, if there is one.
  void NoticeWatched(const RunWatched& watched);
  std::vector<Notice> TakeNotices() { return std::exchange(notices_, {}); }
  std::vector<Report> TakeReports() { return std::exchange(reports_, {}); }
  // The memories that the last Commit stored, changed or deleted.
  std::vector<MemoryKey> TakeChangedMemories() { return memories_.TakeChanged(); }
  // The threads whose logs, or whose runs, the last Commit has changed. May repeat a thread.
  std::vector<std::string> TakeChangedRuns() { return std::exchange(changed_runs_, {}); }
  // The threads whose records the last Commit wrote or deleted, in order.
  std::vector<ThreadChange> TakeChangedThreads() { return transaction_.TakeNoted(); }
  // See Transaction.
  KeyRanges TakeDeletedRanges() { return transaction_.TakeDeletedRanges(); }
  // Writes everything applied since the last Commit. After a failure nothing was written and the
  // store must be abandoned, because its memory is ahead of the database.
  Result<std::vector<StoreReply>> Commit();
  // True if the next commit needs an fsync and CommitBeforeSync may do without it: then call
  // Database::SyncWritten before the replies are sent, except those with `before_sync`.
  bool syncs_later() const { return transaction_.needs_sync() && database_.syncs_later(); }
  Result<std::vector<StoreReply>> CommitBeforeSync();
  // Call after a failed Commit: returns the requests that this store will not answer. No other
  // function may be called afterwards.
  std::vector<ReplyAddress> Abandon();

 private:
  std::vector<StoreReply> TakeReplies();
  Status LoadLeases();
  Status LoadOwnLeases();  // for a database that several hosts write
  std::string ReplyKey(const std::string& client, uint64_t sequence) const;
  Status LoadReplies();
  Status LoadRemoteTools();

  // Each function stages one operation's changes and returns the reply, or an error that undoes
  // them. `sync` becomes false if the changes need not be on the disk before the reply.
  Result<ReplyRow> Execute(const ReplyAddress& from, const RequestHeader& header,
                           pack::Unpacker& body, bool& sync);
  // The operations that do not belong to a run.
  Result<ReplyRow> ExecuteChange(const RequestHeader& header, pack::Unpacker& body);
  // Both move the entries out of the request.
  Result<ReplyRow> AppendRun(const ReplyAddress& from, AppendRunRequest& append, int64_t micros);
  Result<ReplyRow> FinishRun(const ReplyAddress& from, FinishRunRequest& finish, int64_t micros);
  Result<ReplyRow> StageFinish(const ReplyAddress& from, FinishRunRequest& finish, int64_t micros);
  Result<ReplyRow> ReleaseRun(const ReplyAddress& from, const ReleaseRunRequest& release);
  Result<ReplyRow> RequestStop(const StopRequest& stop);
  Result<ReplyRow> AcceptRun(const ReplyAddress& from, const AcceptRunRequest& accept,
                             int64_t micros);
  Result<ReplyRow> ClaimKey(const ClaimKeyRequest& claim, int64_t micros);
  Result<ReplyRow> HandOverRun(const ReplyAddress& from, const HandOverRunRequest& run);
  Result<ReplyRow> PutState(const PutStateRequest& put, int64_t micros);
  Result<ReplyRow> AppendMessages(const AppendMessagesRequest& append, int64_t micros);
  Result<ReplyRow> ClearState(const ThreadRequest& clear, int64_t micros);
  Result<ReplyRow> DeleteThread(const ThreadRequest& thread);
  Result<ReplyRow> DeleteMessage(const MessageRequest& message);
  Result<ReplyRow> RemoveMessages(const RemoveMessagesRequest& remove, int64_t micros);
  Result<ReplyRow> ReplaceRemoteTools(const ReplaceRemoteToolsRequest& set);

  // Other hosts (store_hosts.cc).
  bool is_shared() const { return !database_.instance().empty(); }
  // Locks threads that the batch may not have prepared. Their leases may be gone afterwards.
  void Use(const std::string& thread_id);
  void UseAll(const std::vector<std::string>& thread_ids);
  void UseRows(const BatchUse& use);
  Status SyncLease(const std::string& thread_id);
  void ForgetDeleted(const std::string& thread_id);
  void AdoptLease(const std::string& thread_id, const keys::ThreadKey& thread, LeaseRow row);
  bool IsAccepted(const Lease& lease);  // reads whether the run has a stored request
  void ForgetForeignLeases();
  // The order of runs over all hosts (store_queue.cc). A thread whose next run waits at another
  // host is handed over to that host: its lease row names the host and the run, but no client.
  bool IsHandedOver(const Lease& lease) const;
  void TakeHandOver(const std::string& thread_id);
  Status LeaveOldPlace(Lease& lease, const std::string& run_id);
  void RefuseStopped();
  size_t RefuseStoppedIn(std::vector<QueuedRun>& queue, WaiterList& waiters);
  bool HandOver(FreedThread& freed);
  void TakeLease(const std::string& instance, const std::string& thread_id);
  std::optional<uint64_t> TakeWaitingRuns(const std::string& instance, uint64_t first);
  bool IsOurs(const Lease& lease) const { return lease.row.hosts.instance == database_.instance(); }
  void NotifyHosts(const HostNotice& notice);
  void EndLostHistory(const std::string& thread_id);          // call it when nothing is staged
  bool Claims(const char* work, std::chrono::seconds pause);  // see Database::ClaimWork
  void EndWithoutHistory(const std::string& thread_id);
  Result<size_t> EndQueuedRunsOf(const std::string& instance);

  // Leases (store_runs.cc, store_ends.cc).
  void BeginRun(Waiter begin);
  // Returns Ok if the run may wait for the thread's lease.
  Status CheckQueue(const Lease& lease, const BeginRunRequest& run) const;
  void Start(const Waiter& begin);
  Result<ReplyRow> Grant(const Waiter& begin);
  Result<bool> HasFinished(const AppendRunRequest& append) const;
  Result<Lease*> FencedLease(const ReplyAddress& from, const AppendRunRequest& append);
  Status ApplyAppend(Lease& lease, ThreadEditor& editor, AppendRunRequest& append, int64_t micros);
  Status AddRunMessages(Lease& lease, ThreadEditor& editor,
                        const std::vector<StoredMessage>& messages);

  // Accepted runs (store_accepted.cc).
  Status LoadAcceptedRuns();
  Status LoadAcceptedRun(const std::string& instance, const Database::AcceptedRun& run);
  Status LoadOwnAcceptedRuns();
  Status TakeRequest(const keys::ThreadKey& thread, const std::string& run_id);
  Waiter WaiterOf(const AcceptRunRequest& accept);
  Deadline DeadlineOf(const AcceptRunRequest& accept) const;  // its times are those of rows
  Result<std::optional<AcceptRunReply>> FindRunOfKey(const AcceptRunRequest& accept,
                                                     int64_t micros) const;
  void PutKey(const std::string& user, const RunKey& key, const RunKeyRow& row);
  void StageKey(const AcceptRunRequest& accept, const ThreadRow& thread, int64_t micros);
  // Grants of these runs (store_grants.cc). Reserve gives the thread's lease to a run that no
  // worker executes yet; it fails without a change.
  Status Reserve(const keys::ThreadKey& thread, const BeginRunRequest& run, Deadline deadline);
  // Grants the run of a reserved lease: to `preferred`, if that client takes runs. If no client
  // does, or other runs wait already, the run waits.
  void GrantOrWait(const std::string& thread_id, const std::string& preferred);
  // Returns the size of the grant; 0: the run waits.
  size_t GrantReserved(const std::string& thread_id, const std::string& preferred);
  Status StageGrant(Lease& lease, const std::string& client);
  const std::string* ChooseClient(const Lease& lease, const std::string& preferred) const;
  void CountGrant(Lease& lease, bool granted);
  void NoteBegun(Lease& lease);  // by the client that it was granted to
  bool TakesRuns() const;
  bool CanGrant() const;  // to some client, now
  void CountRun(uint64_t RunTotals::* counter);
  void MeasureWaits();
  void GrantRuns(MonotonicClock::time_point now);
  // Ends runs whose deadline passes while they wait for a worker.
  void EndUngrantedRuns(MonotonicClock::time_point now);
  void WaitForGrant(const std::string& thread_id, Deadline not_before);
  // `client` has not executed the run: it gets it again only if no other client takes it.
  void GrantElsewhere(Lease& lease, const std::string& client);
  // Keeps the lease for the next attempt. Returns why there is none; empty: there is one.
  Result<std::string> StageNextAttempt(Lease& lease, Loss loss);
  void ForgetAttempt(Lease& lease);
  // Ends an accepted run that no worker executes.
  Status StageEndWithoutWorker(const keys::ThreadKey& thread, const std::string& run_id,
                               RunState run_state, const std::string& reason);
  // The same, also if rows cannot be read.
  void EndUnexecuted(const std::string& thread_id, const keys::ThreadKey& thread,
                     const std::string& run_id, RunState run_state, const std::string& reason);
  // Starts a run that waited for the thread's lease, which has ended.
  void StartAccepted(const Waiter& waiter);
  void EndReserved(const std::string& thread_id, RunState run_state, const std::string& reason);
  void EndQueued(const Lease& lease, const std::string& run_id, RunState run_state,
                 const std::string& reason);
  void ExpireKeys(MonotonicClock::time_point now);

  // Records of runs (store_records.cc).
  // Writes the record of a run that ends. `previous_run`: the thread's run before it.
  Status StageRecord(const Lease& lease, ThreadEditor& editor, const std::string& previous_run,
                     const RunEnd& end);
  // Cuts the thread's log, and deletes records of old runs, if enough runs have begun.
  Status TrimLog(const keys::ThreadKey& thread, ThreadEditor& editor, int64_t micros);
  void TrimRecords(const std::vector<KeptRun>& runs, int64_t micros);
  Result<std::vector<KeptRun>> ReadKeptRuns(const keys::ThreadKey& thread) const;

  // The index of metadata (store_metadata.cc).
  Status LoadMetadataIndex();
  void IndexThreads(MonotonicClock::time_point now);
  bool ClaimIndex();
  void RecordIndex(MonotonicClock::time_point now);

  // Changes from outside (store_outside.cc): the end of a run in flight must not undo what others
  // have changed meanwhile. Call it as the last step of an operation: its effect in memory is not
  // undone if the operation fails later.
  Status NoteOutsideChange(const std::string& thread_id, const OutsideChange& change);
  Status LoadOutsideChange(Lease& lease) const;
  // Call before a change from outside is written: keeps the fields as the run in flight has loaded
  // them, because its entries may refer to them.
  void KeepRunBase(const std::string& thread_id, const ThreadEditor& editor);
  Status WriteBack(const Lease& lease, const ThreadRow& thread, ThreadEditor& editor,
                   const FinishRunRequest& finish);

  // Returns the stored snapshot with the changes that the run's entries in the log have made, as
  // the end of the run would have stored it (store_fold.cc). Does not write it.
  Result<Snapshot> FoldRun(const Lease& lease, const ThreadEditor& editor) const;
  // True if the run has appended to the log, in this attempt or an earlier one.
  Result<bool> HasActed(const Lease& lease) const;
  // Stores the changes of a run that has not reported them, and ends the pause that it has resumed,
  // unless each attempt has left before a node. A run that has not acted changes nothing.
  Status StageLostState(const Lease& lease, ThreadEditor& editor, const std::string& reason);
  // Returns true if each attempt has left before a node, and marks `snapshot`.
  Result<bool> KeepPause(const Lease& lease, const std::string& reason, Snapshot& snapshot) const;
  Result<RunEffects> ReadEffects(const Lease& lease) const;
  // Calls `take` with the rows of the thread's log, newest first, until it returns false.
  Status ReadLogBackwards(const Lease& lease, bool has_uncommitted,
                          const std::function<bool(LogRow&&)>& take) const;
  void NoteEffects(Lease& lease, const std::vector<LogEntry>& entries);

  // Calls that paused threads wait for (store_pause.cc).
  Status ReplacePause(const std::string& thread_id, const keys::ThreadKey& thread,
                      std::vector<OpenCall> calls);
  // Call after messages of a thread were added, replaced or removed: drops open calls from its
  // pause that can no longer be answered.
  Status SettlePause(const std::string& thread_id, const ThreadRow& thread, ThreadEditor& editor,
                     const AddedMessages* added = nullptr);
  bool IsQueued(const Lease& lease, const std::string& run_id) const;  // at this host
  bool IsQueuedElsewhere(const Lease& lease, const std::string& run_id) const;
  void Enqueue(Lease& lease, Waiter waiter);
  Status StopQueuedElsewhere(Lease& lease, const StopRequest& stop);
  Status NoteStopped(const Lease& lease, const StopRequest& stop);
  // Asks the run that holds the lease to stop. The lease may have ended when it returns.
  void StopHolder(const std::string& thread_id, bool cancel);
  // Stages the ids of the waiting runs, for readers of the thread's state.
  void SaveQueue(Lease& lease);
  void OrderQueue(Lease& lease);
  // Removes the waiters that `leaves` selects.
  void RemoveWaiters(const std::function<bool(const Lease& lease, const Waiter& waiter)>& leaves);
  // Removes the lease from memory; its waiters are admitted.
  void DropLease(const std::string& thread_id);
  // Removes the lease; the next waiter is admitted when the operation is accepted.
  void EndLease(const std::string& thread_id);
  // Returns why the run ends; empty: it is continued; nullopt: it no longer had the lease.
  std::optional<std::string> LoseLease(const std::string& thread_id, Loss loss);
  Status StageLostRun(const Lease& lease, const std::string& reason);
  // StageLostRun, also if rows cannot be read.
  void StageEndOfLostRun(const Lease& lease, const std::string& reason);
  Status StageReleased(const Lease& lease);
  // Adds a notice for the next Commit.
  template <typename Message>
  void Notify(uint64_t connection, Message message) {
    Notice& notice = notices_.emplace_back();
    notice.connection = connection;
    notice.message = std::move(message);
  }
  void NoticeCancel(const LeaseRow& lease);
  void NoticeDeleted(const std::string& thread_id);  // to every client
  // Leases that are lost a portion at a time (store_losses.cc): all of the client, or those that
  // `hello` does not name.
  void LoseLeasesOf(const std::string& client, const ClientHello* hello, bool crashed);
  void AddLostLeases(std::vector<std::string> thread_ids, Loss loss);
  void LoseSomeLeases();
  // The threads of the next portion.
  std::vector<std::string> NextLostThreads() const;
  void LoseListed(const LostLease& lost);
  ClientEntry* FindClient(const std::string& client, uint64_t connection);
  void AdmitWaiters();
  void StartNext(FreedThread& freed);
  void StartWaiter(FreedThread& freed, const std::string& run_id);
  // Cancels the waiters of `run_id`; empty: all.
  void CancelWaiters(Lease& lease, const Status& reason, const std::string& run_id = {});
  // Only answers them: the rows of the thread are deleted.
  void RefuseWaiters(Lease& lease, const Status& reason);
  static Status ThreadWasDeleted();
  static Status RunWasStopped();
  void DropWaitersOf(const std::string& client);
  void RefuseWaitersOf(const std::string& client, const Status& reason);

  // Unresponsive clients (store_clients.cc).
  void PingHolders(MonotonicClock::time_point now);
  void SetSilent(const std::string& client, ClientEntry& entry, size_t leases,
                 MonotonicClock::time_point now);
  void SetHeard(ClientEntry& entry);
  void TakeGrantsBack(const std::string& client);  // of runs that it has not begun
  void EndOverdueLeases(MonotonicClock::time_point now);
  void UseOverdueThreads(MonotonicClock::time_point now);
  void ExpireWaiters(MonotonicClock::time_point now);
  void CheckClients(MonotonicClock::time_point now);
  // Deletes a portion of the threads whose retention time has passed (store_threads.cc).
  void ExpireThreads(MonotonicClock::time_point now);

  // Returns an existing thread in the scope; kNotFound otherwise.
  Result<ThreadRow> ReadableThread(const Scope& scope, const std::string& thread_id) const;
  // Returns an existing or new thread; kPermissionDenied if it belongs to another owner.
  Result<ThreadRow> WritableThread(const Scope& scope, const NewThread& thread, bool& created);

  void Accept(const ReplyAddress& to, Operation operation, ReplyRow reply, bool sync);
  void Refuse(const ReplyAddress& to, Status status);
  bool AnswerAgain(const ReplyAddress& from);
  void Acknowledge(const std::string& client, ClientEntry& entry, uint64_t below);
  void ForgetReplies(const std::string& client, ClientEntry& entry);
  bool TakesSweep(const Result<bool>& more, SweepPosition& position);  // true: it goes on

  Database& database_;
  const SyncLevel sync_;
  const std::chrono::seconds thread_ttl_;
  const int64_t log_kept_micros_;
  const uint64_t log_bytes_max_;
  const std::shared_ptr<DatabaseStatus> database_status_;
  Transaction transaction_;
  MemoryWriter memories_;
  std::unordered_map<std::string, Lease> leases_;  // by thread id
  size_t waiters_ = 0;
  uint64_t commits_ = 1;
  Deadline next_waiter_ = kNoDeadline;  // earliest possible end of a wait
  Deadline next_client_check_ = kNoDeadline;
  Deadline next_expiry_ = kNoDeadline;
  Deadline next_ping_ = kNoDeadline;
  Deadline next_grant_ = kNoDeadline;
  Deadline next_key_expiry_ = kNoDeadline;
  Deadline next_indexing_ = kNoDeadline;
  Deadline next_loss_ = kNoDeadline;
  Indexing indexing_;
  bool expires_more_keys_ = false;
  std::string expired_until_;  // key of a listing; everything behind it has been examined
  std::vector<FreedThread> admissions_;
  std::deque<LostLease> lost_leases_;
  UngrantedRuns ungranted_;
  std::atomic<int64_t> longest_wait_micros_{0};
  std::vector<std::string> changed_runs_;
  ClientTable clients_;
  std::vector<StoreReply> replies_;
  std::vector<Notice> notices_;
  std::set<std::string> used_threads_;  // by this batch, of a database that several hosts write
  Deadline next_await_ = kNoDeadline;
  std::optional<Trial> trial_;
  std::vector<Report> reports_;
  uint64_t remote_tools_version_ = 0;
  bool wants_sweep_ = false;
  bool has_new_markers_ = false;  // of what is to be swept, since the last sweep
  SweepPosition thread_sweep_;
  SweepPosition log_sweep_;
};

}  // namespace agent_graph::state
