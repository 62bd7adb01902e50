// The memories of a database, for the search index.
#pragma once

#include <memory>

#include "state/rows/database.h"
#include "state/search/memory_rows.h"

namespace agent_graph::state {

class StoredMemoryRows : public MemoryRows {
 public:
  explicit StoredMemoryRows(const Database& database) : database_(database) {}
  std::unique_ptr<MemorySnapshot> Snapshot() const override;

 private:
  const Database& database_;
};

}  // namespace agent_graph::state
