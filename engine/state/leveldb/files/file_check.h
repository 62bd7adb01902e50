// Checks of LevelDB's files that LevelDB itself does not make when it opens them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {

// A log whose last record was not written as a whole.
struct UnfinishedLog {
  std::string path;
  uint64_t whole_bytes = 0;  // the records before it
};

// Checks that all acknowledged data is present. Returns kDataLoss if a log or MANIFEST is missing
// or damaged before its mark, or if intact records follow the damage. LevelDB treats some of these
// cases as the end of the file. Other damage behind the mark is left to LevelDB.
//
// A record of which a part was never written to the disk is no damage: its sync had not ended, so
// neither this record nor later ones were acknowledged. Returns the logs with such a record. Call
// CutUnfinished for them before LevelDB reads them.
//
// Call while no process has the database open. A folder without a database is valid.
Result<std::vector<UnfinishedLog>> CheckFiles(const std::string& folder, const Marks& marks);

// Truncates these logs after their whole records, and keeps the removed bytes in lost/.
Status CutUnfinished(const std::vector<UnfinishedLog>& logs);

// Like CheckFiles, for the MANIFEST only: LevelDB deletes all tables that it does not list.
Status CheckManifest(const std::string& folder, const Marks& marks);

// Repairs logs: keeps all readable records, also those behind damage, and moves the damaged file to
// lost/.
Status SalvageLogs(const std::string& folder);

}  // namespace agent_graph::state
