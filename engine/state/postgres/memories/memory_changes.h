// Tells the hosts of a database which memories have changed, for their search indexes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "state/postgres/database/connection.h"
#include "state/search/memory_rows.h"
#include "state/types.h"

namespace agent_graph::state::postgres {

// Commands that record changes of memories. They lock the owners' buckets until the transaction
// ends, so they come last in it.
std::vector<Command> RecordMemoryChanges(std::span<const MemoryKey> memories);

// Removes records that are older than `age`, the oldest ones first, up to a number. A host that has
// not read them builds its indexes again. Locks the buckets of these records.
Command RemoveMemoryChanges(std::chrono::seconds age);
// `removal` is its result. True: more records may be that old.
bool MayLeaveMemoryChanges(const Rows& removal);

// The changes that this process has read. Thread-safe; the connection is used by one call at a
// time.
class MemoryChanges {
 public:
  static constexpr size_t kBuckets = 256;
  // More changes than this are reported as missed, because building an index again is cheaper.
  static constexpr int64_t kChangesMax = 10'000;

  explicit MemoryChanges(ConnectionOptions options);

  // See MemoryRows. The changes that were committed before the first call for a scope are not
  // reported: nothing was read before.
  Status Take(const Scope& scope, const MemoryRows::UseChanges& use);
  void Interrupt() { connection_.Interrupt(); }

 private:
  struct Position {
    int64_t bucket = 0;
    int64_t from = 0;  // read up to here; negative: nothing was read
    int64_t to = 0;
  };
  Result<std::vector<Position>> FindNews(const Scope& scope, ForeignChanges& changes)
      AG_REQUIRES(mutex_);
  Status ReadChanges(const std::vector<Position>& news, ForeignChanges& changes)
      AG_REQUIRES(mutex_);

  // Also held while changes are used: a search must not overtake a call that still reports them.
  Mutex mutex_;
  // Not AG_GUARDED_BY: Interrupt needs no lock. All other calls hold it.
  Connection connection_;
  std::array<int64_t, kBuckets> positions_ AG_GUARDED_BY(mutex_);
  std::string server_ AG_GUARDED_BY(mutex_);  // positions_ are those of this server
  // The server has changed, and no index has been told yet.
  bool has_failed_over_ AG_GUARDED_BY(mutex_) = false;
};

// The memories of a database that several hosts change.
class SharedMemoryRows : public MemoryRows {
 public:
  // `rows` reads them.
  SharedMemoryRows(std::shared_ptr<const MemoryRows> rows, ConnectionOptions options)
      : rows_(std::move(rows)), changes_(std::move(options)) {}

  std::unique_ptr<MemorySnapshot> Snapshot() const override { return rows_->Snapshot(); }
  Status TakeForeignChanges(const Scope& scope, const UseChanges& use) const override {
    return changes_.Take(scope, use);
  }
  void Interrupt() { changes_.Interrupt(); }

 private:
  const std::shared_ptr<const MemoryRows> rows_;
  mutable MemoryChanges changes_;
};

}  // namespace agent_graph::state::postgres
