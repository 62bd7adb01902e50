// The LevelDB backend's entries in the factory: "leveldb", on disk, and "memory", whose database
// lives as long as its executor.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "state/calls/executor.h"
#include "state/maintenance.h"
#include "state/options.h"

namespace agent_graph::state {

std::unique_ptr<Storage> MakeLevelDbStorage(const StateOptions& options);
std::unique_ptr<Storage> MakeMemoryStorage(const StateOptions& options);

// `database`: the folder of the database. No process may have it open.
std::unique_ptr<ClosedState> MakeClosedLevelDb(const std::string& database);

}  // namespace agent_graph::state
