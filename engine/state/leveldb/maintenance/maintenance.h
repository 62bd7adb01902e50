// Maintenance operations for administrators: verify, back up and repair a database. They block.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/leveldb/database/database.h"
#include "state/maintenance.h"

namespace agent_graph::state {

// Reads every row of one snapshot with its checksum. Keys and values must be readable and rows must
// be consistent with each other. Returns kDataLoss if LevelDB itself cannot continue to read. Like
// Backup, ends with kUnavailable once `stopping` (may be null) is set.
Result<VerifyReport> Verify(const Database& database, const std::atomic<bool>* stopping = nullptr);

// Writes one snapshot as a new database into `directory`, which must not exist yet; it is created
// atomically. Writes to the database continue meanwhile. Returns kResourceExhausted if the disk is
// nearly full.
Result<BackupReport> Backup(const Database& database, const std::string& directory,
                            const std::atomic<bool>* stopping = nullptr);

// Repairs a closed database: keeps what LevelDB can read and corrects, from the other rows, every
// fault that Verify would report. Unreadable data is lost; LevelDB keeps the damaged files
// under lost/.
Status Repair(const std::string& database_directory);

}  // namespace agent_graph::state
