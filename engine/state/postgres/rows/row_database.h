// The rows of the state in PostgreSQL.
//
// A batch of writes is one transaction. It takes two round trips: Prepare locks the lease rows of
// its threads and reads what the batch needs; WriteRows writes and commits. It takes one if this
// host knows the rows from its last batches: then WriteRows also locks the lease rows, and fails if
// their versions show that another host has changed the threads. Every transaction holds the row of
// this host's instance: if another host has declared the instance dead, nothing is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "state/database_status.h"
#include "state/postgres/database/connection.h"
#include "state/postgres/rows/connection_pool.h"
#include "state/postgres/rows/row_reads.h"
#include "state/postgres/rows/row_writes.h"
#include "state/postgres/rows/thread_cache.h"
#include "state/rows/database.h"

namespace agent_graph::state::postgres {

// The process that writes as an instance of the table `instance`.
struct WriterIdentity {
  std::string instance;  // 32 hex digits
  uint64_t incarnation = 0;
  uint64_t history = 0;  // see Database::history
};

struct RowDatabaseOptions {
  ConnectionOptions connection;
  WriterIdentity identity;
  // The server's wall clock in microseconds. Thread-safe.
  std::function<int64_t()> now = UnixMicros;
  size_t readers = 4;  // connections for views
  std::shared_ptr<DatabaseStatus> status = std::make_shared<DatabaseStatus>();
};

class RowDatabase : public Database {
 public:
  explicit RowDatabase(const RowDatabaseOptions& options);

  Result<std::optional<std::string>> Get(const std::string& key) const override;
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override;
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override;
  std::unique_ptr<DatabaseView> TakeView() const override;
  std::unique_ptr<RowBatch> NewBatch() const override;
  // kFenced: the instance was declared dead, or another process has taken it over.
  Status WriteRows(RowBatch& batch, WriteSync sync) override;

  uint64_t history() const override { return identity_.history; }
  int64_t Now() const override { return now_(); }
  Status Prepare(const BatchUse& use) override;
  bool Assume(const BatchUse& use) override;
  void Dismiss() override { Forget(); }
  std::unique_ptr<DatabaseView> TakeThreadView(const std::string& thread_id) override;
  Status EndBatch() override;
  void Notify(const HostNotice& notice) override { notices_.push_back(notice); }
  Result<bool> HoldInstance(const std::string& instance) override;
  Result<bool> ClaimWork(const std::string& name, std::chrono::seconds pause) override;
  Result<std::optional<int64_t>> ClaimJob(const std::string& name) override;
  Status ReleaseJob(const std::string& name, int64_t claim) override;
  Result<std::vector<std::string>> ThreadsHeldBy(const std::string& instance,
                                                 size_t limit) override;
  Result<std::vector<AcceptedRun>> AcceptedRunsOf(const std::string& instance, uint64_t first,
                                                  size_t limit) override;
  Result<std::vector<LeaseState>> LeaseStates(
      const std::vector<std::string>& thread_ids) const override;
  std::optional<Result<uint64_t>> TakeNumber(Counter counter) override;

  // All calls fail from then on.
  void StopWaiting() override;
  void Compact(const std::string&, const std::string&) override {}
  Result<BackupReport> BackUp(const std::string& directory,
                              const std::atomic<bool>* stopping) const override;

 private:
  // A command of Prepare, and what to do with its rows.
  struct Step {
    Command command;
    std::function<Status(const Rows& rows)> take;
  };
  // Opens the session of a batch that uses what this host knows. What another session has read is
  // forgotten: its server may have failed over to one that lacks its last commits, and has given
  // their versions and numbers to others.
  Status OpenSession();
  Status PrepareOnce(const BatchUse& use);
  // Repeats the steps of `use`, if not_locked_ has threads, until it has none.
  Status LockAgain(BatchUse use);
  std::vector<Step> StepsOf(const BatchUse& use);
  void AddThreadSteps(const std::vector<const ThreadUse*>& threads, std::vector<Step>& steps);
  void AddRowSteps(const std::vector<const ThreadUse*>& threads, std::vector<Step>& steps);
  // Steps that read the states with which runs begin.
  void AddStateSteps(const std::vector<const ThreadUse*>& threads, std::vector<Step>& steps);
  void AddNumberStep(size_t wanted, std::vector<Step>& steps);
  // `begun`: sorted keys of threads that new runs are for.
  Step LockStep(const std::vector<std::string>& keys, const std::vector<std::string>& begun);
  // Returns the keys of `created`, and of the rows of threads, whose lease rows are not locked.
  std::set<std::string> NotLocked(const std::vector<std::string>& created,
                                  const Rows& threads) const;
  Step FenceStep() const;
  Status Run(std::vector<Step> steps);
  // Keeps rows of a key and a value, or of a key that has no row, for the reads of this batch.
  Status KnowRows(const Rows& rows);
  // Executes commands as a part of the batch. After a failure the batch cannot be written.
  Result<std::vector<Rows>> Send(const std::vector<Command>& commands) const;
  void AddNotices(std::vector<Command>& commands);
  std::vector<std::string> UnusedLeases(const SqlRowBatch& batch) const;
  bool IsFresh(std::string_view key) const;
  void Forget();

  // Batches that begin with Assume, and what is kept for them (row_database_assume.cc).
  std::optional<std::optional<std::string>> Assumed(const std::string& key) const;
  // Locks the threads of the batch and compares their versions.
  Command HoldCommand() const;
  bool IsRefuted() const;
  // Returns the status of a batch that has failed. If only its assumption was wrong, this database
  // is ready for the next batch.
  Status EndFailedBatch();
  // Returns the keys of the threads whose rows the batch changes.
  std::set<std::string> ChangedThreads(const SqlRowBatch& batch) const;
  // Returns the threads in `changed` whose lease row the batch does not put: only a put counts the
  // version in that row, which has to grow by one for each changed thread.
  std::vector<std::string> UncountedThreads(const SqlRowBatch& batch,
                                            const std::set<std::string>& changed) const;
  // Maps the places of the rows of the batch's threads, before and after it, to the threads' keys.
  std::map<std::string, std::string> PlacesOf(const SqlRowBatch& batch) const;
  // Keeps what the batch has read and written.
  void Remember(const SqlRowBatch& batch, const std::set<std::string>& changed);
  CachedThread TakeCached(const std::string& thread, int64_t version, const std::string& place);
  // Call for each new run. `as_left`: its thread was as this host had left it.
  void NoteBegin(bool as_left);

  const WriterIdentity identity_;
  const std::function<int64_t()> now_;
  const std::shared_ptr<DatabaseStatus> status_;
  mutable Connection writer_;  // used by the thread that writes
  uint64_t session_ = 0;       // of writer_; cache_ and numbers_ are from it
  SqlRowReads reads_;          // over writer_
  mutable Status failure_;     // first failure of this batch
  std::vector<HostNotice> notices_;
  mutable ConnectionPool pool_;
  std::set<std::string> locked_;       // keys of threads, and of other rows
  std::set<std::string> not_locked_;   // threads of this Prepare that have no lease row to lock
  std::set<std::string> made_leases_;  // lease rows that this batch may have inserted
  std::set<uint64_t> fresh_;           // numbers that no row has before this batch
  std::map<Counter, std::vector<uint64_t>> numbers_;  // taken from the sequences in advance

  ThreadCache cache_;                        // used by the thread that writes
  std::map<std::string, int64_t> versions_;  // versions of the threads that this batch has locked
  std::map<std::string, std::string> messages_;  // first keys of the messages that it has read
  bool assumes_ = false;                         // this batch began with Assume
  bool assumes_begin_ = false;                   // and begins a run
  mutable bool is_refuted_ = false;              // its assumption was wrong
  std::map<std::string, CachedThread> assumed_;
  std::map<std::string, const CachedThread*> assumed_places_;
  std::set<std::string> assumed_absent_;  // keys of ids of messages
  // Grows when the threads of new runs were as this host had left them, and shrinks when they were
  // not: a balancer may send each run of a thread to another host.
  int begin_trust_ = 0;
};

}  // namespace agent_graph::state::postgres
