// RowImport: copies the rows of another database of rows (LevelDB) into PostgreSQL.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "state/postgres/database/connection.h"
#include "state/postgres/rows/row_writes.h"
#include "state/rows/keys.h"
#include "state/rows/numbering.h"

namespace agent_graph::state::postgres {

// Rows of one kind, as they were read and as the database has them.
struct ImportedKind {
  const char* name;
  uint64_t read = 0;
  uint64_t stored = 0;
};

// Not thread-safe; calls block. No host may use the database meanwhile.
//
// The rows are added in the order of their keys, from `next_key` on. Each transaction also stores
// how far the import is, so an import that was interrupted continues behind its last transaction.
// Accepted runs in flight belong to an instance that is dead, so that the first hosts that start
// take them over. Answers that were kept for clients are not copied: the clients are gone.
class RowImport {
 public:
  // `source` names the database that is read.
  RowImport(Connection& connection, std::string source);

  // kConflict: the database has threads or memories that this import did not write.
  Status Begin();
  // True if an earlier import of the same source has been completed; then there is nothing to add.
  bool is_complete() const { return complete_; }

  // Call for every row of the source, in the order of their keys; rows that are there already are
  // only counted.
  Status Add(std::string_view key, std::string_view value);
  // Writes the rest and compares the numbers of rows. kDataLoss: they differ.
  Result<std::vector<ImportedKind>> Finish();

 private:
  Status Flush(bool complete);
  Status Take(keys::Table kind, std::string_view key, std::string_view value);
  Status CheckEmpty();
  std::vector<Command> CounterCommands() const;
  Result<std::vector<ImportedKind>> Count();

  Connection& connection_;
  const std::string source_;
  std::string instance_;  // the dead one
  std::string next_key_;  // keys that are smaller are in the database
  bool complete_ = false;
  SqlRowBatch batch_;
  size_t rows_ = 0;                   // in batch_
  std::vector<std::string> threads_;  // keys of the threads in batch_
  std::map<keys::Table, uint64_t> read_;
  NumbersInUse numbers_;
  uint64_t epoch_ = 0;      // the largest of the rows
  uint64_t run_order_ = 0;  // the next one
};

}  // namespace agent_graph::state::postgres
