// Store: the records of runs.
#include <algorithm>
#include <vector>

#include "state/leveldb/store.h"

namespace agent_graph::state {
namespace {

// A record is kept longer than the entries of its run: as long as a client may repeat the request.
constexpr size_t kRecordsKeptMax = 1000;

struct EndedRun {
  int64_t micros = 0;
  std::string key;
};

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
    row.record.created_micros = lease.row.started_micros;
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
  record.state = end.run_state;
  record.reason = end.reason;
  if (end.usage_json != "{}") record.usage_json = end.usage_json;
  record.finished_micros = end.micros;
  record.current_node = lease.row.current_node;
  record.step = lease.row.step;
  AG_ASSIGN_OR_RETURN(row.log_end, editor.NextLogIndex());
  transaction_.PutRow(key, row);
  return Status::Ok();
}

Status Store::TrimRecords(const keys::ThreadKey& thread, int64_t micros) {
  std::vector<EndedRun> ended;
  Status damage;
  const std::string prefix = keys::ThreadPrefix(keys::Table::kRun, thread);
  AG_RETURN_IF_ERROR(database_.Scan(
      prefix, keys::PrefixEnd(prefix), nullptr, [&](std::string_view key, std::string_view value) {
        RunRow row;
        if (!pack::FromBytes(value, row)) {
          damage = DamagedState();
          return false;
        }
        if (HasEnded(row.record.state)) {
          ended.push_back({row.record.finished_micros, std::string(key)});
        }
        return true;
      }));
  AG_RETURN_IF_ERROR(damage);
  if (ended.size() <= kRunsKept) return Status::Ok();
  std::ranges::sort(ended, std::greater(), &EndedRun::micros);
  for (size_t i = kRunsKept; i < ended.size(); ++i) {
    const bool kept = i < kRecordsKeptMax && ended[i].micros > micros - kRunKeyMicros;
    if (!kept) transaction_.Delete(ended[i].key);
  }
  return Status::Ok();
}

}  // namespace agent_graph::state
