// Copies the state of a service from LevelDB into PostgreSQL.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "admin/state_access.h"
#include "base/status.h"
#include "state/postgres/import/row_import.h"

namespace agent_graph::admin {

struct Imported {
  bool earlier = false;  // an earlier import has copied the rows
  std::vector<state::postgres::ImportedKind> kinds;
  uint64_t files = 0;
};

// Copies the rows, and the files of the folder `uploads` if it exists. An import that was
// interrupted continues, and one that was completed only copies files that are missing. Blocks.
// kBusy: a state server is running, or a host uses the database; kConflict: the database has other
// threads or memories, or the state has changed since an import of it began.
Result<Imported> ImportState(const StateAccess& state, const std::string& uploads,
                             const std::string& url);

}  // namespace agent_graph::admin
