// Copies all files of a LocalStorage directory, for backups.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace agent_graph::media {

struct CopiedFiles {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// kTake: use all space on the disk; kLeave: stop when it is nearly full (base/disk_room.h).
enum class Room : uint8_t { kTake, kLeave };

// Copies every file of the directory `from` into the new directory `to`; each file is complete.
// Files that are uploaded meanwhile may be included or not. Stored files never change, so on the
// same file system the copies are hard links and need no space. Entries that do not have
// LocalStorage's names and places are skipped, symbolic links too. kConflict: `to` exists.
// kDataLoss: a record's file is missing or has another length. kResourceExhausted: the disk is
// full, or nearly full if `room` is kLeave. If `from` does not exist there are no files. Blocks.
Result<CopiedFiles> CopyFiles(const std::string& from, const std::string& to, Room room);

}  // namespace agent_graph::media
