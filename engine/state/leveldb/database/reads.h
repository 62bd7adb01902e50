// Reads of a LevelDB database, of its latest state or of a snapshot.
#pragma once

#include <leveldb/db.h>

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "state/leveldb/disk/read_gate.h"
#include "state/rows/database.h"

namespace agent_graph::state {

// Thread-safe. Every read of the database passes the gate, as long as it lasts. The functions are
// those of RowReads and DatabaseView.
class LevelReads {
 public:
  // Owns nothing. `snapshot` null: the latest state.
  LevelReads(leveldb::DB& db, ReadGate& gate, const leveldb::Snapshot* snapshot)
      : db_(db), gate_(gate), snapshot_(snapshot) {}

  Result<std::optional<std::string>> Get(const std::string& key) const;
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const;
  Status ScanBackwards(const std::string& begin, const std::string& end, const RowUse& row) const;
  std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const;

 private:
  leveldb::ReadOptions options() const;

  leveldb::DB& db_;
  ReadGate& gate_;
  const leveldb::Snapshot* const snapshot_;
};

}  // namespace agent_graph::state
