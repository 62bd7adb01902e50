#include "state/thread/sweep.h"

#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "state/rows/rows.h"

namespace agent_graph::state {
namespace {

constexpr size_t kThreadsSkippedMax = 1000;
// A thread without rows takes about as long as this many rows.
constexpr size_t kRowsPerThread = 8;

// The tables in which a thread has any number of rows.
constexpr keys::Table kRangeTables[] = {keys::Table::kLog, keys::Table::kMessage,
                                        keys::Table::kMessageId, keys::Table::kRun,
                                        keys::Table::kRunRequest};

// The tables in which a thread has one row or none. The row is deleted without a look: a thread has
// few of them, and a scan for one that is absent would step over all that was deleted behind it.
constexpr keys::Table kSingleTables[] = {keys::Table::kCounters,      keys::Table::kSnapshot,
                                         keys::Table::kWindow,        keys::Table::kLogCut,
                                         keys::Table::kPause,         keys::Table::kOutsideChange,
                                         keys::Table::kIndexedThread, keys::Table::kRunBase};

Status FindMarker(const Database& database, keys::Table table, SweepPosition& position) {
  if (!position.marker.empty()) return Status::Ok();
  const std::string prefix = keys::TablePrefix(table);
  return database.Scan(position.after.empty() ? prefix : position.after + '\0',
                       keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view) {
                         if (position.skipped.contains(std::string(key))) return true;
                         position.marker = key;
                         return false;
                       });
}

Result<keys::ThreadKey> ThreadOfMarker(const SweepPosition& position, keys::Table table) {
  keys::Parser parser(position.marker, table);
  keys::ThreadKey thread = parser.Thread();
  if (!parser.ok()) return DamagedState();
  return thread;
}

// A scan does not see what this batch has deleted, so the next pass waits for its commit. Returns
// false if the pass has found no marker.
bool EndPass(SweepPortion& portion, SweepPosition& position) {
  const bool has_swept = !position.after.empty();
  position.BeginAgain();
  if (has_swept) portion.rows = 0;
  return has_swept;
}

}  // namespace

void SweepPosition::Pass() {
  after = std::move(marker);
  marker.clear();
  table = 0;
  from.clear();
}

bool SweepPosition::SkipThread() {
  if (marker.empty() || skipped.size() == kThreadsSkippedMax) return false;
  skipped.insert(marker);
  Pass();
  return true;
}

void SweepPosition::BeginAgain() {
  Pass();
  after.clear();
}

Result<bool> SweepDeletedThread(const Database& database, Transaction& transaction,
                                SweepPortion& portion, SweepPosition& position) {
  AG_RETURN_IF_ERROR(FindMarker(database, keys::Table::kDeleted, position));
  if (position.marker.empty()) return EndPass(portion, position);
  portion.Take(kRowsPerThread, 0);
  AG_ASSIGN_OR_RETURN(const keys::ThreadKey thread,
                      ThreadOfMarker(position, keys::Table::kDeleted));
  for (; position.table < std::size(kRangeTables); ++position.table, position.from.clear()) {
    const std::string prefix = keys::ThreadPrefix(kRangeTables[position.table], thread);
    bool has_more = false;
    AG_RETURN_IF_ERROR(database.Scan(position.from.empty() ? prefix : position.from,
                                     keys::PrefixEnd(prefix),
                                     [&](std::string_view key, std::string_view value) {
                                       has_more = portion.is_used_up();
                                       if (has_more) {
                                         position.from = key;
                                         return false;
                                       }
                                       portion.Take(1, key.size() + value.size());
                                       transaction.DeleteUnread(std::string(key));
                                       return true;
                                     }));
    if (has_more) return true;
  }
  for (const keys::Table table : kSingleTables) {
    transaction.DeleteUnread(keys::ThreadPrefix(table, thread));
  }
  transaction.DeleteUnread(position.marker);
  position.Pass();
  return true;
}

Result<bool> SweepCutLog(const Database& database, Transaction& transaction, SweepPortion& portion,
                         SweepPosition& position) {
  AG_RETURN_IF_ERROR(FindMarker(database, keys::Table::kLogCut, position));
  if (position.marker.empty()) return EndPass(portion, position);
  portion.Take(kRowsPerThread, 0);
  AG_ASSIGN_OR_RETURN(const keys::ThreadKey thread, ThreadOfMarker(position, keys::Table::kLogCut));
  // Includes changes that are not committed yet.
  AG_ASSIGN_OR_RETURN(std::optional<LogCutRow> cut, transaction.GetRow<LogCutRow>(position.marker));
  bool has_more = false;
  if (cut) {
    AG_RETURN_IF_ERROR(database.Scan(keys::LogEntry(thread, cut->from),
                                     keys::LogEntry(thread, cut->to),
                                     [&](std::string_view key, std::string_view value) {
                                       has_more = portion.is_used_up();
                                       if (has_more) return false;
                                       portion.Take(1, key.size() + value.size());
                                       keys::Parser parser(key, keys::Table::kLog);
                                       parser.Thread();
                                       cut->from = parser.Integer() + 1;
                                       transaction.DeleteUnread(std::string(key));
                                       return true;
                                     }));
  }
  if (has_more) {
    transaction.PutRow(position.marker, *cut);
    return true;
  }
  transaction.Delete(position.marker);
  position.Pass();
  return true;
}

}  // namespace agent_graph::state
