// Deletes what deleted threads have left in a shared database, and entries that were cut off logs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/postgres/database/connection.h"
#include "state/rows/keys.h"

namespace agent_graph::state::postgres {

// Works beside the writes of all hosts, because no host uses these rows any more. It is harmless if
// several hosts sweep at once: a marker (Table::kDeleted or Table::kLogCut) goes last, when a
// statement has found no more rows for it.
class RowSweep {
 public:
  // Limits of a portion. A statement that takes too long makes the next portions smaller.
  static constexpr size_t kThreadsMax = 64;
  static constexpr size_t kRowsMax = 1000;  // of each table

  // `connection` must outlive the sweep.
  explicit RowSweep(Connection& connection) : connection_(connection) {}

  // Deletes a portion. Returns false at the end of a pass. Markers that were added behind it are
  // found by the next one.
  Result<bool> Next();

 private:
  Result<bool> SweepThreads();
  Result<bool> SweepLogs();
  Result<Rows> FindMarkers(const std::string& table, keys::Table kind, const std::string& after);
  Result<std::vector<Rows>> Execute(const std::vector<Command>& commands);
  size_t Limit(size_t most) const;

  Connection& connection_;
  // The markers that were swept last; empty: none in this pass.
  std::string after_thread_;
  std::string after_log_;
  unsigned halvings_ = 0;  // of the limits
};

}  // namespace agent_graph::state::postgres
