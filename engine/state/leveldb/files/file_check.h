// Checks of LevelDB's files that LevelDB does not make when it opens them.
#pragma once

#include <string>

#include "base/status.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {

// Checks that everything that was written is there: kDataLoss when a log or MANIFEST is missing or
// damaged before its mark, or when whole records lie behind the damage. LevelDB takes some of these
// for the end of the file. Damage behind the mark is left to LevelDB.
//
// Call it while no one has the database open. A folder without a database is fine.
Status CheckFiles(const std::string& folder, const Marks& marks);

// The same of the MANIFEST alone: LevelDB removes all tables that a MANIFEST does not name.
Status CheckManifest(const std::string& folder, const Marks& marks);

// Makes logs whole: all records that can be read, also those behind damage, are kept, and the
// damaged file is moved into lost/.
Status SalvageLogs(const std::string& folder);

}  // namespace agent_graph::state
