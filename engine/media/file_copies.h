// Copies of all files of a directory of LocalStorage, for backups.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace agent_graph::media {

struct CopiedFiles {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Copies every file of the directory `from` into the new directory `to`, each whole; what is
// received meanwhile may be among them or not. What is stored is never changed, so copies on the
// same file system are links and take no room. Only files that are named and lie as LocalStorage
// has them are taken, links are not. kConflict: `to` exists; kDataLoss: a record's file is missing
// or of another length; kResourceExhausted: the disk is nearly full, for who is to leave room
// there. Without `from` there are no files. Blocks.
enum class Room : uint8_t { kTake, kLeave };
Result<CopiedFiles> CopyFiles(const std::string& from, const std::string& to, Room room);

}  // namespace agent_graph::media
