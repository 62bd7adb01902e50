// The rows of the state in PostgreSQL.
//
// A batch of writes is one transaction with two round trips: Prepare locks the lease rows of its
// threads and reads what the batch needs; WriteRows writes and commits. Every transaction holds the
// row of this host's instance: if another host has declared the instance dead, nothing is written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "state/postgres/database/connection.h"
#include "state/postgres/rows/connection_pool.h"
#include "state/postgres/rows/row_reads.h"
#include "state/postgres/rows/row_writes.h"
#include "state/rows/database.h"

namespace agent_graph::state::postgres {

// The process that writes as an instance of the table `instance`.
struct WriterIdentity {
  std::string instance;  // 32 hex digits
  uint64_t incarnation = 0;
};

struct RowDatabaseOptions {
  ConnectionOptions connection;
  WriterIdentity identity;
  size_t readers = 5;  // connections for views
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
  Status WriteRows(RowBatch& batch, bool sync) override;

  Status Prepare(const BatchUse& use) override;
  Status EndBatch() override;
  void Notify(HostNotice notice) override { notices_.push_back(std::move(notice)); }
  Result<std::vector<std::string>> ThreadsHeldBy(const std::string& instance,
                                                 size_t limit) override;
  Result<std::vector<std::string>> StatesOf(
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
  Status PrepareOnce(const BatchUse& use);
  std::vector<Step> StepsOf(const BatchUse& use);
  void AddThreadSteps(const std::vector<const ThreadUse*>& threads, std::vector<Step>& steps);
  void AddRowSteps(const std::vector<const ThreadUse*>& threads, std::vector<Step>& steps);
  void AddNumberStep(size_t wanted, std::vector<Step>& steps);
  Step FenceStep() const;
  Status Run(std::vector<Step> steps);
  // Executes commands as a part of the batch. After a failure the batch cannot be written.
  Result<std::vector<Rows>> Send(const std::vector<Command>& commands) const;
  void AddNotices(std::vector<Command>& commands);
  std::vector<std::string> UnusedLeases(const SqlRowBatch& batch) const;
  bool IsFresh(std::string_view key) const;
  void Forget();

  const WriterIdentity identity_;
  mutable Connection writer_;  // of the thread that writes
  SqlRowReads reads_;          // over writer_
  mutable Status failure_;     // of this batch
  std::vector<HostNotice> notices_;
  mutable ConnectionPool pool_;
  std::set<std::string> locked_;       // keys of threads, and of other rows
  std::set<std::string> made_leases_;  // lease rows that this batch may have inserted
  std::set<uint64_t> fresh_;           // numbers that no row has before this batch
  std::map<Counter, std::vector<uint64_t>> numbers_;  // taken from the sequences in advance
};

}  // namespace agent_graph::state::postgres
