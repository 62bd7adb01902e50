// RowImport: copies the rows of another database of rows (LevelDB) into PostgreSQL.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// Not thread-safe; calls block. No host may use the database meanwhile: the transaction that writes
// the first rows checks that the database is empty, fences the hosts that are listed as living, and
// stores that the import has begun. Other hosts wait until Finish has succeeded
// (CheckImportsFinished). An import that fails earlier leaves nothing in the database.
//
// The rows are added in the order of their keys, from `next_key` on. Each transaction also stores
// how far the import is, so an import that was interrupted continues behind its last transaction.
// A digest of the rows so far is stored as well: a source that was written meanwhile cannot be
// continued, because later rows do not fit the earlier ones.
// Accepted runs in flight belong to an instance that is dead, so that the first hosts that start
// take them over. Answers that were kept for clients are not copied: the clients are gone.
class RowImport {
 public:
  // `source` names the database that is read.
  RowImport(Connection& connection, std::string source);

  // kConflict: no import of `source` has begun, and the database has threads, memories or rows of
  // another import that is not complete, or an earlier version, which stored no digests, began the
  // import of `source` and did not complete it. Writes nothing.
  Status Begin();
  // True if an earlier import of `source` has been completed. Add and Finish then only check that
  // the source has the same rows as at that time. If an earlier version has completed the import,
  // they only notice rows behind its last one.
  bool is_complete() const { return complete_; }

  // Call for every row of the source, in the order of their keys; rows that are there already are
  // only counted. kConflict: the source is not as the import has read it before, or see Begin.
  Status Add(std::string_view key, std::string_view value);
  // Writes the rest, compares the numbers of rows, and marks the import as complete. kDataLoss: the
  // numbers differ; kConflict: see Add. Returns no kinds if is_complete().
  Result<std::vector<ImportedKind>> Finish();

 private:
  void AddToDigest(std::string_view key, std::string_view value);
  // Call before the first row that is not in the database.
  Status CheckUnchanged();
  Status Flush();
  // One transaction, which also stores the import if it is the first one.
  Status Write(const std::vector<Command>& commands);
  Status Complete();
  Status Take(keys::Table kind, std::string_view key, std::string_view value);
  Status CreateInTransaction();
  Status CheckEmpty();
  std::vector<Command> CounterCommands() const;
  Result<std::vector<ImportedKind>> Count();

  Connection& connection_;
  const std::string source_;
  std::string instance_;  // the dead one
  std::string next_key_;  // keys that are smaller are in the database
  // Digest of the rows that the database has, as their import has read them. nullopt: there are
  // none, they were compared, or an earlier version has imported them.
  std::optional<std::string> earlier_digest_;
  std::string digest_;      // of the rows that were added; empty: none
  bool is_stored_ = false;  // the database has its row of the table `import`
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
