// Checks of LevelDB's files that LevelDB itself does not make when it opens them.
#pragma once

#include <string>

#include "base/status.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {

// Checks that all acknowledged data is present. Returns kDataLoss if a log or MANIFEST is missing
// or damaged before its mark, or if intact records follow the damage. LevelDB treats some of these
// cases as the end of the file. Damage behind the mark is left to LevelDB.
//
// Call while no process has the database open. A folder without a database is valid.
Status CheckFiles(const std::string& folder, const Marks& marks);

// Like CheckFiles, for the MANIFEST only: LevelDB deletes all tables that it does not list.
Status CheckManifest(const std::string& folder, const Marks& marks);

// Repairs logs: keeps all readable records, also those behind damage, and moves the damaged file to
// lost/.
Status SalvageLogs(const std::string& folder);

}  // namespace agent_graph::state
