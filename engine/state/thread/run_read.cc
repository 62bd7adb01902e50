#include "state/thread/run_read.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "state/limits.h"
#include "state/rows/rows.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

Status NoSuchRun() {
  return NotFound("run not found");
}

// A thread's runs: the stored records, and the lease, which knows the run in flight.
class RunTable {
 public:
  static Result<RunTable> Load(const DatabaseSnapshot& snapshot, const Scope& scope,
                               const std::string& thread_id) {
    AG_ASSIGN_OR_RETURN(const ThreadRow thread, ReadThread(snapshot, scope, thread_id));
    AG_ASSIGN_OR_RETURN(std::optional<LeaseRow> lease,
                        ReadRow<LeaseRow>(snapshot, keys::Lease(thread.key())));
    return RunTable(snapshot, thread_id, thread.key(), std::move(lease));
  }

  Result<RunRow> Find(const std::string& run_id) const {
    AG_ASSIGN_OR_RETURN(std::optional<RunRow> row,
                        ReadRow<RunRow>(snapshot_, keys::Run(thread_, run_id)));
    if (row && !IsOfEarlierRun(*row)) return WithLease(*std::move(row));
    for (RunRow& unstored : Unstored()) {
      if (unstored.record.run_id == run_id) return std::move(unstored);
    }
    return NoSuchRun();
  }

  // Newest first.
  Result<std::vector<RunRecord>> All() const {
    std::vector<RunRecord> runs;
    Status damage;
    const std::string prefix = keys::ThreadPrefix(keys::Table::kRun, thread_);
    AG_RETURN_IF_ERROR(snapshot_.Scan(prefix, keys::PrefixEnd(prefix),
                                      [&](std::string_view, std::string_view value) {
                                        RunRow row;
                                        if (!pack::FromBytes(value, row)) {
                                          damage = DamagedState();
                                          return false;
                                        }
                                        if (IsOfEarlierRun(row)) return true;
                                        runs.push_back(WithLease(std::move(row)).record);
                                        return true;
                                      }));
    AG_RETURN_IF_ERROR(damage);
    for (RunRow& row : Unstored()) {
      const bool stored = std::ranges::any_of(
          runs, [&](const RunRecord& run) { return run.run_id == row.record.run_id; });
      if (!stored) runs.push_back(std::move(row.record));
    }
    std::ranges::sort(runs, std::greater(), &RunTable::Place);
    return runs;
  }

  // Belongs to the attempt that executes the thread's run, or was the last to do so.
  uint64_t lease_epoch() const { return lease_ ? lease_->epoch : 0; }

  static std::tuple<int64_t, std::string_view> Place(const RunRecord& run) {
    return {run.created_micros, run.run_id};
  }

  const keys::ThreadKey& thread() const { return thread_; }

 private:
  RunTable(const DatabaseSnapshot& snapshot, std::string thread_id, keys::ThreadKey thread,
           std::optional<LeaseRow> lease)
      : snapshot_(snapshot),
        thread_id_(std::move(thread_id)),
        thread_(std::move(thread)),
        lease_(std::move(lease)) {}

  // True for the record of a run that has ended if a client has given its id to the run in flight.
  bool IsOfEarlierRun(const RunRow& row) const {
    return lease_ && lease_->run_id == row.record.run_id && !lease_->client.empty() &&
           HasEnded(row.record.state);
  }

  RunRow WithLease(RunRow row) const {
    if (!lease_ || lease_->run_id != row.record.run_id || lease_->client.empty()) return row;
    row.record.current_node = lease_->current_node;
    row.record.step = lease_->step;
    return row;
  }

  RunRow RowOf(const std::string& run_id, int64_t created_micros) const {
    RunRow row;
    row.record.run_id = run_id;
    row.record.thread_id = thread_id_;
    row.record.thread_number = thread_.number;
    row.record.created_micros = created_micros;
    return row;
  }

  // Runs of clients have no record before their end.
  std::vector<RunRow> Unstored() const {
    std::vector<RunRow> rows;
    if (!lease_) return rows;
    RunRecord& running = rows.emplace_back(RowOf(lease_->run_id, lease_->created_micros())).record;
    running.state = RunState::kRunning;
    running.attempt = 1;
    running.started_micros = lease_->started_micros;
    running.current_node = lease_->current_node;
    running.step = lease_->step;
    running.log_begin = lease_->log_begin;
    for (size_t i = 0; i < lease_->queued_runs.size(); ++i) {
      rows.push_back(RowOf(lease_->queued_runs[i], lease_->created_micros(i)));
    }
    return rows;
  }

  const DatabaseSnapshot& snapshot_;
  const std::string thread_id_;
  const keys::ThreadKey thread_;
  const std::optional<LeaseRow> lease_;
};

// A cursor names the last run of the page before: its time of creation, "-", its id.
std::string CursorOf(const RunRecord& run) {
  return std::to_string(run.created_micros) + "-" + run.run_id;
}

Result<std::pair<int64_t, std::string>> PlaceOf(const std::string& cursor) {
  const Status foreign(StatusCode::kInvalidArgument, "cursor: not one that this service gave");
  const size_t dash = cursor.find('-');
  if (dash == 0 || dash == std::string::npos || dash > 18) return foreign;
  int64_t micros = 0;
  for (const char digit : cursor.substr(0, dash)) {
    if (digit < '0' || digit > '9') return foreign;
    micros = micros * 10 + (digit - '0');
  }
  return std::pair(micros, cursor.substr(dash + 1));
}

// Collects the entries of a run from the thread's log.
class EntryCollector {
 public:
  EntryCollector(const FollowRunRequest& follow, const RunRow& run)
      : first_(std::max(follow.first, run.record.log_begin)),
        end_(HasEnded(run.record.state) ? run.log_end : UINT64_MAX),
        entries_max_(std::clamp<size_t>(follow.entries_max, 1, kPageItemsMax)) {}

  uint64_t first() const { return first_; }
  uint64_t end() const { return end_; }

  // Returns false if no further row is needed.
  bool Take(uint64_t last, LogRow row, size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kPageBytesMax && !entries.empty()) return false;
    uint64_t index = last + 1 - row.entries.size();
    for (LogEntry& entry : row.entries) {
      const uint64_t at = index++;
      if (at < first_) continue;
      if (at >= end_ || entries.size() == entries_max_) return false;
      entries.push_back({at, row.lease_epoch, std::move(entry)});
    }
    return entries.size() < entries_max_;
  }

  std::vector<IndexedEntry> entries;

 private:
  const uint64_t first_;
  const uint64_t end_;
  const size_t entries_max_;
  size_t bytes_ = 0;
};

// The first entry of the run that the log still has.
Result<uint64_t> OldestKept(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                            uint64_t log_begin) {
  AG_ASSIGN_OR_RETURN(const std::optional<CountersRow> counters,
                      ReadRow<CountersRow>(snapshot, keys::Counters(thread)));
  const bool cut = counters && counters->log_is_cut && !counters->log_marks.empty();
  return cut ? std::max(log_begin, counters->log_marks.front()) : log_begin;
}

}  // namespace

Result<RunRecord> ReadRun(const DatabaseSnapshot& snapshot, const GetRunRequest& get) {
  AG_ASSIGN_OR_RETURN(const RunTable runs, RunTable::Load(snapshot, get.scope, get.thread_id));
  AG_ASSIGN_OR_RETURN(RunRow row, runs.Find(get.run_id));
  return std::move(row.record);
}

Result<RunPage> ReadRunPage(const DatabaseSnapshot& snapshot, const ListRunsRequest& list) {
  AG_ASSIGN_OR_RETURN(const RunTable runs, RunTable::Load(snapshot, list.scope, list.thread_id));
  AG_ASSIGN_OR_RETURN(std::vector<RunRecord> all, runs.All());
  std::optional<std::pair<int64_t, std::string>> after;
  if (!list.cursor.empty()) {
    AG_ASSIGN_OR_RETURN(after, PlaceOf(list.cursor));
  }
  RunPage page;
  const uint64_t limit = std::min(list.limit, kPageItemsMax);
  for (RunRecord& run : all) {
    if (list.run_state && run.state != *list.run_state) continue;
    if (after && RunTable::Place(run) >= std::tuple(after->first, std::string_view(after->second)))
      continue;
    if (page.runs.size() == limit) {
      if (limit > 0) page.next_cursor = CursorOf(page.runs.back());
      break;
    }
    page.runs.push_back(std::move(run));
  }
  return page;
}

Result<FollowRunReply> ReadRunEntries(const DatabaseSnapshot& snapshot,
                                      const FollowRunRequest& follow) {
  AG_ASSIGN_OR_RETURN(const RunTable runs,
                      RunTable::Load(snapshot, follow.scope, follow.thread_id));
  AG_ASSIGN_OR_RETURN(const RunRow run, runs.Find(follow.run_id));
  EntryCollector collector(follow, run);
  Status damage;
  const keys::ThreadKey& thread = runs.thread();
  const std::string prefix = keys::ThreadPrefix(keys::Table::kLog, thread);
  // A queued run has no entries; those behind its log_begin are of the runs before it.
  if (run.record.state != RunState::kQueued && collector.first() < collector.end()) {
    AG_RETURN_IF_ERROR(
        snapshot.Scan(keys::LogEntry(thread, collector.first()), keys::PrefixEnd(prefix),
                      [&](std::string_view key, std::string_view value) {
                        keys::Parser parser(key, keys::Table::kLog);
                        parser.Thread();
                        const uint64_t last = parser.Integer();
                        LogRow row;
                        if (!pack::FromBytes(value, row) || row.entries.size() > last + 1) {
                          damage = DamagedState();
                          return false;
                        }
                        return collector.Take(last, std::move(row), value.size());
                      }));
  }
  AG_RETURN_IF_ERROR(damage);
  FollowRunReply reply;
  reply.run = run.record;
  reply.entries = std::move(collector.entries);
  const uint64_t reached =
      reply.entries.empty() ? collector.first() : reply.entries.back().index + 1;
  reply.complete = HasEnded(run.record.state) && reached >= run.log_end;
  AG_ASSIGN_OR_RETURN(reply.kept_from, OldestKept(snapshot, thread, run.record.log_begin));
  return reply;
}

Result<WatchRunReply> ReadRunProgress(const DatabaseSnapshot& snapshot,
                                      const WatchRunRequest& watch) {
  AG_ASSIGN_OR_RETURN(const RunTable runs, RunTable::Load(snapshot, watch.scope, watch.thread_id));
  if (runs.thread().number != watch.thread_number) return NoSuchRun();
  AG_ASSIGN_OR_RETURN(const RunRow run, runs.Find(watch.run_id));
  WatchRunReply reply;
  reply.ended = HasEnded(run.record.state);
  if (run.record.state != RunState::kRunning) return reply;
  AG_ASSIGN_OR_RETURN(const std::optional<CountersRow> counters,
                      ReadRow<CountersRow>(snapshot, keys::Counters(runs.thread())));
  reply.lease_epoch = runs.lease_epoch();
  reply.log_end = counters ? counters->next_log_index : 0;
  return reply;
}

}  // namespace agent_graph::state
