// The interface of a store of rows, as the state's logic uses it: an ordered map of byte strings
// with atomic writes. A backend implements it; keys.h says what the keys are.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "state/maintenance.h"
#include "state/pack/fields.h"

namespace agent_graph::state {

// Receives a row; returns false to end the scan.
using RowUse = std::function<bool(std::string_view key, std::string_view value)>;

// Iterates over keys in ascending order.
class RowCursor {
 public:
  virtual ~RowCursor() = default;
  virtual bool Valid() const = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual void Next() = 0;
  // The error that made the cursor invalid; Ok at the end of the range.
  virtual Status status() const = 0;
};

// Reads rows. Calls may block. The keys of a range are in [begin, end); an empty end: no end.
class RowReads {
 public:
  virtual ~RowReads() = default;

  // Returns nullopt if the row does not exist.
  virtual Result<std::optional<std::string>> Get(const std::string& key) const = 0;
  // Calls `row` for each row of the range, in ascending order, until it returns false.
  virtual Status Scan(const std::string& begin, const std::string& end,
                      const RowUse& row) const = 0;
  // Like Scan, in descending order.
  virtual Status ScanBackwards(const std::string& begin, const std::string& end,
                               const RowUse& row) const = 0;
};

// A consistent view of a database. For one thread at a time.
class DatabaseView : public RowReads {
 public:
  virtual std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const = 0;
  // Returns the rows of several keys of one table of keys.h, in their order.
  virtual Result<std::vector<std::optional<std::string>>> GetAll(
      const std::vector<std::string>& keys) const {
    std::vector<std::optional<std::string>> rows;
    for (const std::string& key : keys) {
      AG_ASSIGN_OR_RETURN(rows.emplace_back(), Get(key));
    }
    return rows;
  }
};

// Changes that are written together. The last change of a key counts.
class RowBatch {
 public:
  virtual ~RowBatch() = default;
  virtual void Put(std::string_view key, std::string_view value) = 0;
  virtual void Delete(std::string_view key) = 0;
  virtual void Clear() = 0;
  // About what Write would write, in bytes.
  virtual size_t bytes() const = 0;
  // Calls `use` for each change in the order in which it was added; nullopt: the row was deleted.
  virtual void ForEach(
      const std::function<void(std::string_view key, std::optional<std::string_view> value)>& use)
      const = 0;
};

// A thread that a batch of requests reads or changes.
struct ThreadUse {
  std::string thread_id;
  bool may_create = false;  // the thread
  bool needs_free = false;  // begins a run, if no other run holds the thread
  bool reads_snapshot = false;
  bool reads_state = false;  // the batch reads the snapshot and the latest messages, as a run does
  std::vector<std::string> message_ids = {};
  std::vector<std::string> new_message_ids = {};  // probably of no message yet
  std::vector<std::string> run_ids = {};
};
// The rows that a batch of requests reads and changes, so that a database that several hosts write
// can lock and read them in advance.
struct BatchUse {
  std::vector<ThreadUse> threads = {};
  // Keys of rows that belong to no thread. Only one host at a time uses each of them.
  std::vector<std::string> keys = {};
};

// A message to other hosts that share the database. Sent with the commit of a batch.
struct HostNotice {
  enum class Kind : uint8_t {
    kCancelRun = 1,      // cancel the run that a client of the host holds
    kThreadDeleted = 2,  // drop what is cached of the thread
    // A run that waits for the thread is to stop, also if it has begun meanwhile. No run_id: all
    // that wait; sent by an older build.
    kStopWaiting = 3,
    kRemoteTools = 4,  // read the remote tools again
    kHandOver = 5,     // the thread belongs to a run that waits, or has waited, at the host
  };
  Kind kind = Kind::kCancelRun;
  std::string instance;  // empty: all other hosts
  std::string thread_id;
  std::string run_id;
};
template <pack::SameAs<HostNotice> T>
auto Fields(T& s) {
  return std::tie(s.kind, s.instance, s.thread_id, s.run_id);
}

// How a write reaches the disk.
enum class WriteSync : uint8_t {
  kNone,   // at some time
  kNow,    // before WriteRows returns
  kLater,  // by SyncWritten, which the caller calls before it acknowledges the write
};

// The numbers that are given once each.
enum class Counter : uint8_t { kThread, kMemory, kRunOrder };

// An open database, of which RowReads reads the newest state. Thread-safe, but only one thread
// writes. Destroy all views first.
class Database : public RowReads {
 public:
  virtual std::unique_ptr<DatabaseView> TakeView() const = 0;
  virtual std::unique_ptr<RowBatch> NewBatch() const = 0;
  // Writes all changes of a batch of NewBatch, or none. After a failure every later write fails
  // too, until the database is reopened.
  virtual Status WriteRows(RowBatch& batch, WriteSync sync) = 0;
  // True if WriteSync::kLater is permitted.
  virtual bool syncs_later() const { return false; }
  // Puts on the disk what WriteRows had written when this call began. Thread-safe; other threads
  // can write meanwhile. After a failure every later write fails too.
  virtual Status SyncWritten() { return Status::Ok(); }

  // --- databases that several hosts write ---

  // Names this host's instance in rows; empty: no other process writes this database.
  const std::string& instance() const { return instance_; }
  // Identifies what has happened to the rows: another number after a restore from a backup, 0
  // before the first one.
  virtual uint64_t history() const { return 0; }
  // The wall clock by which rows have their times, in microseconds since 1970: that of the
  // database's server, if several hosts write, because their own clocks may differ. Thread-safe.
  virtual int64_t Now() const { return UnixMicros(); }
  // Begins a batch, or extends it: locks what it uses until the next WriteRows or EndBatch, and
  // reads it in advance. Get and Scan belong to the batch, so only the thread that writes calls
  // them.
  virtual Status Prepare(const BatchUse&) { return Status::Ok(); }
  // Begins a batch without a round trip, if this host knows what it uses from its last batches. The
  // batch ends with a check that no other host has changed the threads since. If one has, WriteRows
  // or EndBatch returns kConflict and the batch has had no effect: prepare and execute it again.
  virtual bool Assume(const BatchUse&) { return false; }
  // Ends a batch that began with Assume before it has written anything.
  virtual void Dismiss() {}
  // Returns what the last batch has read and written of a thread; null: it is not known.
  virtual std::unique_ptr<DatabaseView> TakeThreadView(const std::string&) { return nullptr; }
  // Ends a batch that has nothing to write.
  virtual Status EndBatch() { return Status::Ok(); }
  // Sends a notice with the next WriteRows.
  virtual void Notify(const HostNotice&) {}
  // True if a host lives; it cannot be declared dead until the batch has ended.
  virtual Result<bool> HoldInstance(const std::string&) { return true; }
  // Claims regular work as a part of the batch: true if this host is to do it now. It is due again
  // after `pause`, at the host that asks first. Does not wait for other hosts.
  virtual Result<bool> ClaimWork(const std::string&, std::chrono::seconds) { return true; }
  // Claims a job that one host does to its end, as a part of the batch. Returns the number of the
  // claim; nullopt: another host that lives has it. Does not wait for other hosts.
  virtual Result<std::optional<int64_t>> ClaimJob(const std::string&) {
    return std::optional<int64_t>(0);
  }
  // Ends the claim as a part of the batch: other hosts may have the job.
  virtual Status ReleaseJob(const std::string&, int64_t) { return Status::Ok(); }
  // Threads whose leases an instance holds, up to `limit`, in the order in which they are locked.
  virtual Result<std::vector<std::string>> ThreadsHeldBy(const std::string&, size_t) {
    return std::vector<std::string>();
  }
  struct AcceptedRun {
    std::string thread_id;  // empty: the thread was deleted
    std::string run_id;
    uint64_t order = 0;        // see RunRequestRow
    size_t request_bytes = 0;  // size of this row
  };
  // Accepted runs that wait or execute at an instance, up to `limit`, in their order, beginning
  // with `first`.
  virtual Result<std::vector<AcceptedRun>> AcceptedRunsOf(const std::string& /*instance*/,
                                                          uint64_t /*first*/, size_t /*limit*/) {
    return std::vector<AcceptedRun>();
  }
  struct LeaseState {
    std::string version;   // changes when the runs of the thread, or its log, do
    std::string instance;  // which executes a run of it; empty: none does
  };
  // Returns the state of each thread's lease. Thread-safe.
  virtual Result<std::vector<LeaseState>> LeaseStates(
      const std::vector<std::string>& thread_ids) const {
    return std::vector<LeaseState>(thread_ids.size());
  }
  // Returns a number that no host had before; nullopt: the database keeps the counter in a row.
  virtual std::optional<Result<uint64_t>> TakeNumber(Counter) { return std::nullopt; }

  // --- its storage ---

  // Fails if the stored data has been moved or removed.
  virtual Status CheckPresent() const { return Status::Ok(); }
  // True if there is no space: then only make writes that free some.
  virtual bool low_on_space() const { return false; }
  // Updates what other processes can change, such as free space and the presence of files. Call
  // about once a second, on a thread that may block.
  virtual void Tend() {}
  // Makes waits inside the database fail, and all later writes, too.
  virtual void StopWaiting() {}
  // Ok if writes of a reopened database would succeed.
  virtual Status CheckWritable() const { return Status::Ok(); }
  // Frees the space of deleted rows between two keys, both inclusive. Blocks. Files that readers
  // use at its end are removed by the next call.
  virtual void Compact(const std::string& first, const std::string& last) = 0;
  // Writes one view as a database of files into `directory`, which must not exist yet. Ends with
  // kUnavailable once `stopping` (may be null) is set.
  virtual Result<BackupReport> BackUp(const std::string& directory,
                                      const std::atomic<bool>* stopping) const = 0;

 protected:
  explicit Database(std::string instance = {}) : instance_(std::move(instance)) {}

 private:
  const std::string instance_;
};

// A consistent view of the database for one read.
class DatabaseSnapshot {
 public:
  explicit DatabaseSnapshot(const Database& database) : view_(database.TakeView()) {}
  explicit DatabaseSnapshot(std::unique_ptr<const DatabaseView> view) : view_(std::move(view)) {}

  Result<std::optional<std::string>> Get(const std::string& key) const { return view_->Get(key); }
  Result<std::vector<std::optional<std::string>>> GetAll(
      const std::vector<std::string>& keys) const {
    return view_->GetAll(keys);
  }
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const {
    return view_->Scan(begin, end, row);
  }
  Status ScanBackwards(const std::string& begin, const std::string& end, const RowUse& row) const {
    return view_->ScanBackwards(begin, end, row);
  }
  // For callers that read several ranges in parallel.
  std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const {
    return view_->NewCursor(begin, std::move(end));
  }

 private:
  const std::unique_ptr<const DatabaseView> view_;
};

}  // namespace agent_graph::state
