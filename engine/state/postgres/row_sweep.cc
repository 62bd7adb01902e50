#include "state/postgres/row_sweep.h"

#include <algorithm>
#include <utility>

#include "state/pack/fields.h"
#include "state/postgres/rows/tables.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

constexpr unsigned kHalvingsMax = 10;
constexpr unsigned kHalvingsOfTimeout = 3;

// Deletes a cut unless a host has extended it since it was read.
constexpr char kDeleteCuts[] =
    "DELETE FROM agent_graph.head USING unnest($1::bytea[], $2::bytea[]) AS swept (key, value) "
    "WHERE head.key = swept.key AND head.value = swept.value";

// Ranges of keys: the arrays that are the parameters of DeleteRanges.
struct Ranges {
  std::vector<std::string> begins;
  std::vector<std::string> ends;

  void Add(std::string begin, std::string end) {
    begins.push_back(std::move(begin));
    ends.push_back(std::move(end));
  }
  void AddThread(Table table, const keys::ThreadKey& thread) {
    std::string prefix = keys::ThreadPrefix(table, thread);
    std::string end = keys::PrefixEnd(prefix);
    Add(std::move(prefix), std::move(end));
  }
};

// Deletes up to `rows_max` rows, and returns how many it has found: another host may have deleted
// some of them while this statement waited. Because of the order, the database reads the index of
// the keys, however large the table is.
Command DeleteRanges(const std::string& table, const Ranges& ranges, size_t rows_max) {
  return {
      "WITH found AS (SELECT r.id FROM unnest($1::bytea[], $2::bytea[]) AS wanted (first, past) "
      "CROSS JOIN LATERAL (SELECT ctid AS id FROM agent_graph." +
          table +
          " WHERE key >= wanted.first AND key < wanted.past ORDER BY key LIMIT $3) AS r "
          "LIMIT $3), deleted AS (DELETE FROM agent_graph." +
          table + " WHERE ctid = ANY (ARRAY (SELECT id FROM found))) SELECT count(*) FROM found",
      {Value::BytesArray(ranges.begins), Value::BytesArray(ranges.ends), Value::Number(rows_max)}};
}

Command DeleteKeys(const std::string& table, const std::vector<std::string>& keys) {
  return {"DELETE FROM agent_graph." + table + " WHERE key = ANY ($1)", {Value::BytesArray(keys)}};
}

}  // namespace

size_t RowSweep::Limit(size_t most) const {
  return std::max<size_t>(most >> halvings_, 1);
}

Result<bool> RowSweep::Next() {
  AG_ASSIGN_OR_RETURN(const bool has_threads, SweepThreads());
  if (has_threads) return true;
  return SweepLogs();
}

Result<std::vector<Rows>> RowSweep::Execute(const std::vector<Command>& commands) {
  Result<std::vector<Rows>> results = connection_.ExecuteAll(commands);
  if (results.ok()) {
    halvings_ -= std::min(halvings_, 1U);
  } else if (connection_.failure().kind == FailureKind::kTimeout) {
    halvings_ = std::min(halvings_ + kHalvingsOfTimeout, kHalvingsMax);
  }
  return results;
}

Result<Rows> RowSweep::FindMarkers(const std::string& table, keys::Table kind,
                                   const std::string& after) {
  const std::string prefix = keys::TablePrefix(kind);
  return connection_.Execute(
      {"SELECT key, value FROM agent_graph." + table +
           " WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3",
       {Value::Bytes(after.empty() ? prefix : after), Value::Bytes(keys::PrefixEnd(prefix)),
        Value::Number(Limit(kThreadsMax))}});
}

Result<bool> RowSweep::SweepThreads() {
  AG_ASSIGN_OR_RETURN(const Rows found, FindMarkers("lookup", Table::kDeleted, after_thread_));
  if (found.empty()) {
    after_thread_.clear();
    return false;
  }
  Ranges messages;
  Ranges runs;
  Ranges requests;
  Ranges entries;
  std::vector<std::string> heads;
  std::vector<std::string> snapshots;
  std::vector<std::string> markers;
  for (size_t i = 0; i < found.size(); ++i) {
    std::string marker(found[i].Bytes(0));
    keys::Parser parser(marker, Table::kDeleted);
    const keys::ThreadKey thread = parser.Thread();
    if (!parser.ok()) continue;
    messages.AddThread(Table::kMessage, thread);
    runs.AddThread(Table::kRun, thread);
    requests.AddThread(Table::kRunRequest, thread);
    entries.AddThread(Table::kLog, thread);
    for (const Table kind : HeadKinds()) heads.push_back(keys::ThreadPrefix(kind, thread));
    for (const Table kind : {Table::kSnapshot, Table::kRunBase}) {
      snapshots.push_back(keys::ThreadPrefix(kind, thread));
    }
    markers.push_back(std::move(marker));
  }
  const size_t rows_max = Limit(kRowsMax);
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> deleted,
      Execute({DeleteRanges("message", messages, rows_max), DeleteRanges("run", runs, rows_max),
               DeleteRanges("run_request", requests, rows_max),
               DeleteRanges("log", entries, rows_max)}));
  const bool may_have_more =
      std::ranges::any_of(deleted, [&](const Rows& rows) { return rows[0].Number(0) >= rows_max; });
  if (may_have_more) return true;
  AG_RETURN_IF_ERROR(Execute({DeleteKeys("head", heads), DeleteKeys("snapshot", snapshots),
                              DeleteKeys("lookup", markers)})
                         .status());
  after_thread_ = found[found.size() - 1].Bytes(0);
  return true;
}

Result<bool> RowSweep::SweepLogs() {
  AG_ASSIGN_OR_RETURN(const Rows found, FindMarkers("head", Table::kLogCut, after_log_));
  if (found.empty()) {
    after_log_.clear();
    return false;
  }
  Ranges entries;
  std::vector<std::string> markers;
  std::vector<std::string> cuts;
  for (size_t i = 0; i < found.size(); ++i) {
    std::string marker(found[i].Bytes(0));
    std::string value(found[i].Bytes(1));
    keys::Parser parser(marker, Table::kLogCut);
    const keys::ThreadKey thread = parser.Thread();
    LogCutRow cut;
    if (!parser.ok() || !pack::FromBytes(value, cut)) continue;
    entries.Add(keys::LogEntry(thread, cut.from), keys::LogEntry(thread, cut.to));
    markers.push_back(std::move(marker));
    cuts.push_back(std::move(value));
  }
  const size_t rows_max = Limit(kRowsMax);
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> deleted,
                      Execute({DeleteRanges("log", entries, rows_max)}));
  if (deleted[0][0].Number(0) >= rows_max) return true;
  AG_RETURN_IF_ERROR(
      Execute({{kDeleteCuts, {Value::BytesArray(markers), Value::BytesArray(cuts)}}}).status());
  after_log_ = found[found.size() - 1].Bytes(0);
  return true;
}

}  // namespace agent_graph::state::postgres
