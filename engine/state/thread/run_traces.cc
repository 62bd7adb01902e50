#include "state/thread/run_traces.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "state/rules/stored_json.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

// Limits of a trace, whatever the caller requests. The log may be cut off before older runs.
constexpr size_t kTracedRunsMax = kRunsKept;
constexpr size_t kTracedEntriesMax = 10'000;
constexpr size_t kTracedBytesMax = 32 * 1024 * 1024;  // limit on skipped log entries

// Splits a thread's log, read from its end, into runs.
class TraceCollector {
 public:
  explicit TraceCollector(const ReadRunsRequest& read)
      : wanted_(read.run_id),
        runs_max_(std::clamp<size_t>(read.runs_max, 1, kTracedRunsMax)),
        entries_max_(std::clamp<size_t>(read.entries_max, 1, kTracedEntriesMax)) {}

  // Returns false if no older entries are needed.
  bool Take(LogEntry entry) {
    if (entry.kind != kRunStarted) {
      if (newest_first_.size() < entries_max_) newest_first_.push_back(std::move(entry));
      return true;
    }
    std::string run_id = RunIdOf(entry.json);
    if (traces_.run_id.empty() && (wanted_.empty() || wanted_ == run_id)) {
      newest_first_.push_back(std::move(entry));
      traces_.run_id = run_id;
      traces_.entries = std::move(newest_first_);
    }
    newest_first_.clear();
    traces_.run_ids.push_back(std::move(run_id));
    return traces_.run_ids.size() < runs_max_;
  }

  RunTraces Finish() && {
    std::reverse(traces_.run_ids.begin(), traces_.run_ids.end());
    std::reverse(traces_.entries.begin(), traces_.entries.end());
    return std::move(traces_);
  }

 private:
  const std::string wanted_;
  const size_t runs_max_;
  const size_t entries_max_;
  std::vector<LogEntry> newest_first_;  // entries of the run whose start has not been reached yet
  RunTraces traces_;
};

}  // namespace

Result<RunTraces> ReadRunTraces(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                const ReadRunsRequest& read) {
  TraceCollector collector(read);
  size_t bytes = 0;
  Status damage;
  const std::string prefix = keys::ThreadPrefix(keys::Table::kLog, thread);
  AG_RETURN_IF_ERROR(snapshot.ScanBackwards(
      prefix, keys::PrefixEnd(prefix), [&](std::string_view, std::string_view value) {
        LogRow row;
        if (!pack::FromBytes(value, row)) {
          damage = DamagedState();
          return false;
        }
        bytes += value.size();
        for (auto entry = row.entries.rbegin(); entry != row.entries.rend(); ++entry) {
          if (!collector.Take(std::move(*entry))) return false;
        }
        return bytes <= kTracedBytesMax;
      }));
  AG_RETURN_IF_ERROR(damage);
  RunTraces traces = std::move(collector).Finish();
  AG_ASSIGN_OR_RETURN(std::optional<LeaseRow> lease,
                      ReadRow<LeaseRow>(snapshot, keys::Lease(thread)));
  traces.in_flight = lease && !traces.run_id.empty() && lease->run_id == traces.run_id;
  return traces;
}

}  // namespace agent_graph::state
