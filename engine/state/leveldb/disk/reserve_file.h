// Disk space reserved for the case of a full disk: the file RESERVE in the database's folder.
//
// The file has allocated blocks, and only its first block has data: the size of the complete file,
// so that a restart knows what is missing. When a write finds no space, part of the file is
// released, so that LevelDB never sees a full disk and deletions, compactions and restarts still
// work. low() is true from then on: writes that need more space must be refused until the file has
// its full size again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "base/status.h"

namespace agent_graph::state {

// Thread-safe. Calls block for a file system operation.
class ReserveFile {
 public:
  static constexpr char kName[] = "RESERVE";

  // Creates the file and allocates it as far as there is space: 128 MiB, or a quarter of a small
  // file system; nothing if the file system cannot preallocate. If an eighth of the free space is
  // more, the file grows to that, up to 256 MiB. Afterwards it is complete only with this size.
  static Result<std::unique_ptr<ReserveFile>> Open(const std::string& folder);

  // Releases a part. Returns false if nothing is left for this use.
  enum class Use : uint8_t {
    kLog,    // logs: needed by deletions and to open the database
    kTable,  // tables, written by a compaction; a quarter stays reserved for logs
  };
  bool GiveUp(Use use);
  bool low() const { return low_; }
  // Size of the complete file in bytes.
  uint64_t size_wanted() const { return size_wanted_; }
  uint64_t bytes_for_tables() const { return size_wanted_ - size_wanted_ / kShareForLogs; }
  // Allocates the released part again. low() becomes false when the file is complete and the disk
  // has free space beside it.
  void Refill();
  // Checks that the disk accepts writes: at least half of the file exists, and one block of it can
  // be written and synced.
  Status CheckWritable();

 private:
  ReserveFile(std::string folder, FileDescriptor file, uint64_t size_wanted, uint64_t size,
              bool low);

  static constexpr uint64_t kShareForLogs = 4;

  const std::string folder_;
  const FileDescriptor file_;
  const uint64_t size_wanted_;
  Mutex mutex_;
  uint64_t size_ AG_GUARDED_BY(mutex_);
  std::atomic<bool> low_;
};

}  // namespace agent_graph::state
