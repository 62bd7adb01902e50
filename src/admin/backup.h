// Backups of a service's state: its database and its uploaded files.
#pragma once

#include <string>

#include "admin/state_access.h"
#include "base/status.h"
#include "media/file_copies.h"
#include "state/maintenance.h"

namespace agent_graph::admin {

// Contents of a new backup.
struct BackupContents {
  std::string place;
  state::BackupReport database;
  media::CopiedFiles files;
};

// A backup is a folder in backups/ of the state directory:
//
//   db/       the database
//   uploads/  the files that the database refers to, and possibly newer ones
//
// Creates the backup `name` of the directory and of the files in `uploads`. The folder appears only
// when it is complete, and has mode 0700. Blocks. kInvalidArgument: bad name; kConflict: the name
// exists; kBusy: another backup is being made.
Result<BackupContents> MakeBackup(StateAccess& state, const std::string& name,
                                  const std::string& uploads);

// Paths under which a restore keeps the previous state, empty if there was none; `files` counts the
// restored files.
struct Replaced {
  std::string database;  // where the previous database is now
  std::string uploads;
  media::CopiedFiles files;
};

// Replaces the state by a backup and keeps the previous state under the names in Replaced. Blocks.
// A restore that fails leaves nothing of its copies. `backup`: the name of a backup of this
// directory, or a folder. kBusy: a state server is running; kNotFound: not a backup.
Result<Replaced> RestoreBackup(StateAccess& state, const std::string& backup,
                               const std::string& uploads);

}  // namespace agent_graph::admin
