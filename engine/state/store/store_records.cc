// Store: the records of runs.
#include <algorithm>
#include <limits>
#include <vector>

#include "state/store/store.h"

namespace agent_graph::state {
namespace {

constexpr int64_t kNotEnded = std::numeric_limits<int64_t>::max();

// Latest end of the runs whose entries are in [begin, end) of the log.
int64_t LatestEnd(const std::vector<KeptRun>& runs, uint64_t begin, uint64_t end) {
  int64_t latest = 0;
  for (const KeptRun& run : runs) {
    if (run.log_begin < begin || run.log_begin >= end) continue;
    latest = std::max(latest, run.has_ended ? run.finished_micros : kNotEnded);
  }
  return latest;
}

uint64_t LogBytes(const std::vector<KeptRun>& runs, uint64_t begin) {
  uint64_t bytes = 0;
  for (const KeptRun& run : runs) {
    if (run.log_begin >= begin) bytes += run.log_bytes;
  }
  return bytes;
}

}  // namespace

Status Store::StageRecord(const Lease& lease, ThreadEditor& editor, const std::string& previous_run,
                          const RunEnd& end) {
  const std::string key = keys::Run(lease.thread, lease.row.run_id);
  RunRow row;
  if (lease.accepted) {
    AG_ASSIGN_OR_RETURN(std::optional<RunRow> accepted, transaction_.GetRow<RunRow>(key));
    if (accepted) row = *std::move(accepted);
  } else {
    row.record.run_id = lease.row.run_id;
    row.record.thread_id = lease.row.thread_id;
    row.record.thread_number = lease.thread.number;
    row.record.created_micros = lease.row.created_micros();
    row.record.started_micros = lease.row.started_micros;
    row.record.log_begin = lease.row.log_begin;
    row.record.attempt = 1;
  }
  RunRecord& record = row.record;
  if (!previous_run.empty() && previous_run != record.run_id) {
    AG_ASSIGN_OR_RETURN(const std::optional<RunRow> previous,
                        transaction_.GetRow<RunRow>(keys::Run(lease.thread, previous_run)));
    if (previous && previous->record.state == RunState::kInterrupted) record.resumes = previous_run;
  }
  if (record.graph_hash.empty()) record.graph_hash = end.graph_hash;
  record.state = end.run_state;
  record.reason = end.reason;
  if (end.usage_json != "{}") record.usage_json = end.usage_json;
  record.finished_micros = end.micros;
  record.current_node = lease.row.current_node;
  record.step = lease.row.step;
  AG_ASSIGN_OR_RETURN(row.log_end, editor.NextLogIndex());
  row.log_bytes = lease.log_bytes;
  row.finished_epoch = end.lease_epoch;
  transaction_.PutRow(key, row);
  return Status::Ok();
}

Result<std::vector<KeptRun>> Store::ReadKeptRuns(const keys::ThreadKey& thread) const {
  std::vector<KeptRun> runs;
  Status damage;
  const std::string prefix = keys::ThreadPrefix(keys::Table::kRun, thread);
  AG_RETURN_IF_ERROR(database_.Scan(
      prefix, keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        RunRow row;
        if (!pack::FromBytes(value, row)) {
          damage = DamagedState();
          return false;
        }
        if (row.record.state == RunState::kQueued) return true;  // it has no entries
        runs.push_back({std::string(key), HasEnded(row.record.state),
                        row.record.state == RunState::kInterrupted, row.record.finished_micros,
                        row.record.log_begin, row.log_bytes, row.log_end > row.record.log_begin});
        return true;
      }));
  AG_RETURN_IF_ERROR(damage);
  return runs;
}

// The log of the run in flight and of the one that has paused the thread are among the latest 32,
// which are always kept.
Status Store::TrimLog(const keys::ThreadKey& thread, ThreadEditor& editor, int64_t micros) {
  const int64_t old_micros = micros - log_kept_micros_;
  std::vector<uint64_t> marks = editor.CuttableMarks(old_micros, log_bytes_max_);
  if (marks.empty()) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const std::vector<KeptRun> runs, ReadKeptRuns(thread));
  const size_t marks_kept =
      marks.size() > kLogMarksMax ? kLogMarksMax - kLogMarksMax / kTrimShare : kLogMarksMax;
  const auto must_stay = [&] {
    const int64_t ended = LatestEnd(runs, marks[0], marks[1]);
    return ended == kNotEnded || (ended > old_micros && LogBytes(runs, marks[0]) <= log_bytes_max_);
  };
  bool has_cut = false;
  while (marks.size() > 1 + kRunsKept / kRunsPerMark) {
    const bool too_many = marks.size() > marks_kept;
    if (!too_many && must_stay()) break;
    AG_RETURN_IF_ERROR(editor.CutLog());
    marks.erase(marks.begin());
    has_cut = true;
  }
  editor.NoteKept(std::min(LatestEnd(runs, marks[0], marks[1]), micros));
  if (!has_cut) return Status::Ok();
  has_new_markers_ = true;
  TrimRecords(runs, micros);
  return Status::Ok();
}

// A record is kept as long as the entries of its run, and as long as a client may repeat the
// request. That of the latest pause stays: the thread may still be paused, and answers name its
// run.
void Store::TrimRecords(const std::vector<KeptRun>& runs, int64_t micros) {
  std::vector<const KeptRun*> ended;
  for (const KeptRun& run : runs) {
    if (run.has_ended) ended.push_back(&run);
  }
  if (ended.size() <= kRunsKept) return;
  const int64_t kept_micros = std::max(log_kept_micros_, kRunKeyMicros);
  std::ranges::sort(ended, std::greater(), [](const KeptRun* run) { return run->finished_micros; });
  const auto latest_pause = std::ranges::find(ended, true, &KeptRun::has_paused);
  size_t with_entries = 0;
  for (size_t i = 0; i < ended.size(); ++i) {
    if (ended[i]->has_entries) ++with_entries;
    const bool has_log = ended[i]->has_entries && with_entries <= kRunsKept;
    const bool kept = i < kRunsKept || has_log ||
                      (i < kRunsKeptMax && ended[i]->finished_micros > micros - kept_micros) ||
                      ended.begin() + static_cast<ptrdiff_t>(i) == latest_pause;
    if (!kept) transaction_.Delete(ended[i]->key);
  }
}

}  // namespace agent_graph::state
