// Executes the mutating operations: threads, runs and their leases, exactly once per client.
//
// Used by the owner's write thread only. Operations are applied one after the other to a shared
// transaction; Commit writes what has gathered and only then hands out the replies, so nothing is
// answered that is not written. Leases, waiting runs and clients are kept in memory and in rows;
// Load rebuilds memory from the rows after a takeover.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "state/leveldb/clients.h"
#include "state/leveldb/database.h"
#include "state/leveldb/rows.h"
#include "state/leveldb/threads.h"
#include "state/leveldb/transaction.h"
#include "state/reembedding.h"
#include "state/wire/protocol.h"

namespace agent_graph::state {

// When an acknowledged write has to have reached the disk, not only the kernel.
enum class SyncLevel : uint8_t {
  kRun,     // ends of runs, direct writes, and appends that ask for it
  kAlways,  // every write
  kNone,    // never: survives the death of the process, not of the machine
};

// The request a reply belongs to.
struct ReplyAddress {
  std::string client;
  uint64_t connection = 0;
  uint64_t sequence = 0;
};

struct StoreReply {
  ReplyAddress to;
  Status status;
  ReplyRow reply;
  bool queued = false;  // only tells that the reply comes when the thread is free
};

class Store {
 public:
  // Clients that hold or await leases are asked so often whether they are there. One is silent that
  // has left so many pings unanswered, or has stayed away without a connection for so long; it
  // keeps each lease until the deadline of its run. A pause of our own counts as one ping.
  static constexpr std::chrono::seconds kPingInterval{1};
  static constexpr unsigned kPingsUnansweredMax = 10;
  static constexpr std::chrono::seconds kReconnectGrace{10};
  // How long it keeps the lease of a run without a deadline.
  static constexpr std::chrono::minutes kSilenceMax{10};
  // How long its answers are kept for it.
  static constexpr std::chrono::seconds kReplyRetention{100};
  // Runs that wait for a busy thread, over all threads.
  static constexpr size_t kWaitersMax = 65'536;

  // Threads that were last changed `thread_ttl` ago are deleted; zero: none are.
  Store(Database& database, SyncLevel sync, std::chrono::seconds thread_ttl);

  Status Load();

  // A client said Hello on a connection; frees its leases of runs it does not hold any more.
  void Connect(const wire::Hello& hello, uint64_t connection);
  // Its connection is gone.
  void Disconnect(const std::string& client, uint64_t connection);
  // It leaves for good: its runs end, its answers are not wanted.
  void Leave(const std::string& client);
  // It answered a ping.
  void Hear(const std::string& client);

  // Executes one mutating request; the reply comes out of Commit, now or (Begin on a busy thread)
  // later. `body` stands at the operation's body.
  void Apply(const ReplyAddress& from, const wire::RequestHeader& header, pack::Unpacker& body);

  // Ends waits that are over, frees leases of lost processes, forgets clients.
  void Tick(MonotonicClock::time_point now);
  // When Tick has something to do next.
  Deadline next_tick() const {
    return std::min({next_waiter_, next_client_check_, next_expiry_, next_ping_});
  }
  // Deletes a portion of the rows of deleted threads and of the logs that were cut.
  void Sweep();
  bool wants_sweep() const { return wants_sweep_; }

  // Size of what Commit would write.
  size_t batch_bytes() const { return transaction_.bytes(); }
  // What is to be sent on a client's connection without having been asked for, after the next
  // Commit.
  struct Notice {
    uint64_t connection = 0;
    std::string frame;
  };
  std::vector<Notice> TakeNotices() { return std::exchange(notices_, {}); }
  // Lines for the operator's log.
  struct Report {
    bool alert = false;
    std::string text;
  };
  std::vector<Report> TakeReports() { return std::exchange(reports_, {}); }
  // The memories that the last Commit stored, changed or deleted.
  std::vector<keys::MemoryKey> TakeChangedMemories() {
    return std::exchange(changed_memories_, {});
  }
  // The threads whose records the last Commit wrote or deleted, in order.
  std::vector<ThreadChange> TakeChangedThreads() { return transaction_.TakeNoted(); }
  // See Transaction.
  std::vector<std::pair<std::string, std::string>> TakeDeletedRanges() {
    return transaction_.TakeDeletedRanges();
  }
  // Writes everything applied since the last Commit. When that fails nothing was done and the store
  // must be abandoned: what it holds in memory is ahead of the database.
  Result<std::vector<StoreReply>> Commit();
  // After a Commit that failed: the requests that will have no answer from here. Nothing else may
  // be called afterwards.
  std::vector<ReplyAddress> Abandon();

 private:
  struct Waiter {
    BeginRun run;
    ReplyAddress from;
    int64_t micros = 0;
    Deadline deadline;
    int64_t run_deadline_micros = 0;  // see LeaseRow
  };
  struct Lease {
    LeaseRow row;
    keys::ThreadKey thread;
    std::deque<Waiter> waiters;
    // Of the run's Begin; after a takeover not known, and the next Begin trims instead.
    uint64_t window_max = kWindowItemsMax;
    std::optional<OutsideChangeRow> outside;
  };
  // Parts of a thread's state that a change from outside of a run sets.
  struct OutsideChange {
    std::vector<std::string> fields;
    bool summary = false;
    bool everything = false;
    bool context_cleared = false;
  };

  Status LoadLeases();
  Status LoadReplies();
  Status LoadRemoteTools();

  // Each stages one operation's changes and returns the reply, or a failure that undoes them.
  // `sync` becomes false when the changes need not have reached the disk before the answer.
  Result<ReplyRow> Execute(const ReplyAddress& from, const wire::RequestHeader& header,
                           pack::Unpacker& body, bool& sync);
  Result<ReplyRow> Append(const ReplyAddress& from, const AppendRun& append, int64_t micros);
  Result<ReplyRow> Finish(const ReplyAddress& from, const FinishRun& finish, int64_t micros);
  Result<ReplyRow> Release(const ReplyAddress& from, const wire::ReleaseBody& release);
  Result<ReplyRow> RequestStop(const StopRequest& stop);
  Result<ReplyRow> Put(const PutState& put, int64_t micros);
  Result<ReplyRow> AddMessages(const AppendMessages& append, int64_t micros);
  Result<ReplyRow> Clear(const wire::ThreadBody& clear, int64_t micros);
  Result<ReplyRow> Delete(const wire::ThreadBody& thread);
  Result<ReplyRow> DeleteOneMessage(const wire::MessageBody& message);
  Result<ReplyRow> RemoveAll(const RemoveMessages& remove, int64_t micros);
  Result<ReplyRow> ReplaceRemoteTools(const SetRemoteTools& set);
  Result<ReplyRow> AddMemory(const StoreMemory& store, int64_t micros);
  Result<ReplyRow> ChangeMemory(const UpdateMemory& update, int64_t micros);
  Result<ReplyRow> DeleteMemory(const MemoryName& name);
  Result<ReplyRow> DeleteMemories(const RemoveMemories& remove);
  Result<ReplyRow> ReplaceVectors(const PutVectors& put);

  // Memories (store_memories.cc).
  struct Memory {
    keys::MemoryKey key;
    MemoryRecord record;
  };
  Result<std::optional<Memory>> FindMemory(const Scope& scope, const std::string& agent_id,
                                           const std::string& id) const;
  void PutVector(const keys::MemoryKey& key, const Embedding& embedding);
  void DropMemory(const Memory& memory);

  // Leases (store_runs.cc).
  void Begin(Waiter begin, uint32_t queue_max);
  void Start(const Waiter& begin);
  Result<ReplyRow> Grant(const Waiter& begin);
  Result<Lease*> FencedLease(const ReplyAddress& from, const AppendRun& append);
  Status ApplyAppend(Lease& lease, ThreadEditor& editor, const AppendRun& append, int64_t micros);
  Status AddRunMessages(Lease& lease, ThreadEditor& editor,
                        const std::vector<StoredMessage>& messages);

  // Changes from outside (store_outside.cc). The end of a run in flight must not undo what others
  // have changed behind it. Last of an operation: what it does is not undone when that fails.
  Status NoteOutsideChange(const std::string& thread_id, const OutsideChange& change);
  Status LoadOutsideChange(Lease& lease) const;
  Status WriteBack(const Lease& lease, const ThreadRow& thread, ThreadEditor& editor,
                   const FinishRun& finish);

  // Calls that paused threads wait for (store_pause.cc).
  Status ReplacePause(const std::string& thread_id, const keys::ThreadKey& thread,
                      std::vector<OpenCall> calls);
  // Messages that were just added or replaced from outside.
  struct AddedMessages {
    const std::vector<StoredMessage>& messages;
    uint64_t first_new;  // the place of the first one that was not there before
    ThreadEditor::Existing existing;
  };
  // Messages of a thread were added, replaced or removed: open calls that nobody can answer any
  // more leave its pause.
  Status SettlePause(const std::string& thread_id, const ThreadRow& thread, ThreadEditor& editor,
                     const AddedMessages* added = nullptr);
  bool IsQueued(const Lease& lease, const std::string& run_id) const;
  // Stages the ids of the waiting runs, for those who read the thread's state.
  void SaveQueue(Lease& lease);
  // Forgets the lease; the next waiter gets its turn once the operation is accepted.
  void EndLease(const std::string& thread_id);
  void LoseLease(const std::string& thread_id);
  Status StageLostRun(const Lease& lease, const char* reason);
  Status StageReleased(const Lease& lease);
  void NoticeCancel(const LeaseRow& lease);
  void NoticeDeleted(const std::string& thread_id);  // to every client
  void LoseLeasesOf(const std::string& client, const std::vector<std::string>& except_runs);
  void AdmitWaiters();
  // Those of `run_id`; empty: all.
  void CancelWaiters(Lease& lease, const Status& reason, const std::string& run_id = {});
  void DropWaitersOf(const std::string& client);
  void RefuseWaitersOf(const std::string& client, const Status& reason);

  // Clients that do not answer (store_clients.cc).
  void PingHolders(MonotonicClock::time_point now);
  void SetSilent(const std::string& client, ClientEntry& entry, size_t leases,
                 MonotonicClock::time_point now);
  void SetHeard(ClientEntry& entry);
  void EndOverdueLeases(MonotonicClock::time_point now);
  void ExpireWaiters(MonotonicClock::time_point now);
  void CheckClients(MonotonicClock::time_point now);
  // Deletes a portion of the threads that have outlived the time they may have (store_threads.cc).
  void ExpireThreads(MonotonicClock::time_point now);

  // Existing thread in the scope; kNotFound otherwise.
  Result<ThreadRow> ReadableThread(const Scope& scope, const std::string& thread_id) const;
  // Existing or new thread; kPermissionDenied when it is somebody else's.
  Result<ThreadRow> WritableThread(const Scope& scope, const NewThread& thread, bool& created);

  void Accept(const ReplyAddress& to, wire::Operation operation, ReplyRow reply, bool sync);
  void Refuse(const ReplyAddress& to, Status status);
  bool AnswerAgain(const ReplyAddress& from);
  void Acknowledge(const std::string& client, ClientEntry& entry, uint64_t below);
  void ForgetReplies(const std::string& client, ClientEntry& entry);

  Database& database_;
  const SyncLevel sync_;
  const std::chrono::seconds thread_ttl_;
  Transaction transaction_;
  std::unordered_map<std::string, Lease> leases_;  // by thread id
  size_t waiters_ = 0;
  Deadline next_waiter_ = kNoDeadline;  // no wait ends earlier
  Deadline next_client_check_ = kNoDeadline;
  Deadline next_expiry_ = kNoDeadline;
  Deadline next_ping_ = kNoDeadline;
  std::string expired_until_;  // key of a listing: what lies behind it has had its turn
  std::vector<std::deque<Waiter>> admissions_;  // waiters of leases that ended
  ClientTable clients_;
  std::vector<StoreReply> replies_;
  std::vector<Notice> notices_;
  std::vector<Report> reports_;
  std::vector<keys::MemoryKey> staged_memories_;  // by the operation in progress
  std::vector<keys::MemoryKey> changed_memories_;
  uint64_t remote_tools_version_ = 0;
  bool wants_sweep_ = false;
  SweepPosition sweep_;
};

}  // namespace agent_graph::state
