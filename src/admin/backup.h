// Copies of a service's state: its database and its uploaded files.
#pragma once

#include <string>

#include "admin/state_access.h"
#include "base/status.h"
#include "media/file_copies.h"
#include "state/leveldb/maintenance.h"

namespace agent_graph::admin {

struct BackupContents {
  std::string place;
  state::BackupReport database;
  media::CopiedFiles files;
};

// A backup is a folder of the state directory's backups/:
//
//   db/       the database
//   uploads/  the files that it knows, and perhaps younger ones
//
// It is there whole or not at all, with mode 0700. `uploads`: where files are kept.
Result<BackupContents> MakeBackup(StateAccess& state, const std::string& name,
                                  const std::string& uploads);

struct Replaced {
  std::string database;  // where that is now which was there before
  std::string uploads;
  media::CopiedFiles files;
};

// Puts a backup into the place of what is there, which is kept aside. kBusy while an owner runs.
// `backup`: the name of one of the directory's own, or a folder.
Result<Replaced> RestoreBackup(StateAccess& state, const std::string& backup,
                               const std::string& uploads);

}  // namespace agent_graph::admin
