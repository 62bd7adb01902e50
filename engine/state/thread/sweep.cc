#include "state/thread/sweep.h"

#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "state/rows/rows.h"

namespace agent_graph::state {
namespace {

constexpr size_t kThreadsSkippedMax = 1000;

constexpr keys::Table kSweptTables[] = {
    keys::Table::kLog,          keys::Table::kMessage,  keys::Table::kMessageId,
    keys::Table::kCounters,     keys::Table::kSnapshot, keys::Table::kWindow,
    keys::Table::kLogCut,       keys::Table::kPause,    keys::Table::kOutsideChange,
    keys::Table::kRunBase,      keys::Table::kRun,      keys::Table::kRunRequest,
    keys::Table::kIndexedThread};

// Returns the thread of the first marker of a table that is to be swept; nullopt if there is none.
Result<std::optional<keys::ThreadKey>> FirstThreadOf(const Database& database, keys::Table table,
                                                     SweepPosition& position) {
  std::optional<keys::ThreadKey> thread;
  bool readable = true;
  position.marker.clear();
  const std::string prefix = keys::TablePrefix(table);
  AG_RETURN_IF_ERROR(
      database.Scan(prefix, keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view) {
        if (position.skipped.contains(std::string(key))) return true;
        keys::Parser parser(key, table);
        position.marker = key;
        thread = parser.Thread();
        readable = parser.ok();
        return false;
      }));
  if (!readable) return DamagedState();
  return thread;
}

}  // namespace

bool SweepPosition::SkipThread() {
  if (marker.empty() || skipped.size() == kThreadsSkippedMax) return false;
  skipped.insert(std::move(marker));
  BeginAgain();
  return true;
}

void SweepPosition::BeginAgain() {
  marker.clear();
  thread = {};
  table = 0;
  from.clear();
}

Result<bool> SweepDeletedThread(const Database& database, Transaction& transaction, size_t rows_max,
                                SweepPosition& position) {
  AG_ASSIGN_OR_RETURN(std::optional<keys::ThreadKey> thread,
                      FirstThreadOf(database, keys::Table::kDeleted, position));
  if (!thread) return false;
  if (position.thread != *thread) {
    position.thread = *thread;
    position.table = 0;
    position.from.clear();
  }
  size_t rows = 0;
  for (; position.table < std::size(kSweptTables); ++position.table, position.from.clear()) {
    const std::string prefix = keys::ThreadPrefix(kSweptTables[position.table], *thread);
    AG_RETURN_IF_ERROR(database.Scan(position.from.empty() ? prefix : position.from,
                                     keys::PrefixEnd(prefix),
                                     [&](std::string_view key, std::string_view) {
                                       if (rows == rows_max) {
                                         position.from = key;
                                         return false;
                                       }
                                       transaction.Delete(std::string(key));
                                       ++rows;
                                       return true;
                                     }));
    if (rows == rows_max) return true;
  }
  transaction.Delete(keys::Deleted(*thread));
  return true;
}

Result<bool> SweepCutLog(const Database& database, Transaction& transaction, size_t rows_max,
                         SweepPosition& position) {
  AG_ASSIGN_OR_RETURN(std::optional<keys::ThreadKey> thread,
                      FirstThreadOf(database, keys::Table::kLogCut, position));
  if (!thread) return false;
  const std::string marker = keys::LogCut(*thread);
  // Another host may extend the cut meanwhile.
  AG_RETURN_IF_ERROR(transaction.Lock(marker));
  // Includes changes that are not committed yet.
  AG_ASSIGN_OR_RETURN(std::optional<LogCutRow> cut, transaction.GetRow<LogCutRow>(marker));
  if (!cut) return true;
  size_t rows = 0;
  AG_RETURN_IF_ERROR(database.Scan(keys::LogEntry(*thread, cut->from),
                                   keys::LogEntry(*thread, cut->to),
                                   [&](std::string_view key, std::string_view) {
                                     if (rows == rows_max) return false;
                                     keys::Parser parser(key, keys::Table::kLog);
                                     parser.Thread();
                                     cut->from = parser.Integer() + 1;
                                     transaction.Delete(std::string(key));
                                     ++rows;
                                     return true;
                                   }));
  if (rows < rows_max) {
    transaction.Delete(marker);
  } else {
    transaction.PutRow(marker, *cut);
  }
  return true;
}

}  // namespace agent_graph::state
