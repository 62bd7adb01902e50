// Disk space that the database keeps in reserve for a full disk: the file RESERVE in its folder.
//
// The file holds allocated blocks and no data. When a write finds no space, part of the file is
// given up, so that LevelDB never sees a full disk and deletions, compactions and restarts still
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

// Thread-safe. Calls block for the time of a file system operation.
class ReserveFile {
 public:
  static constexpr char kName[] = "RESERVE";

  // Creates the file and allocates as much of it as there is space for: 128 MiB, or a quarter of a
  // small file system; nothing on a file system that cannot allocate ahead.
  static Result<std::unique_ptr<ReserveFile>> Open(const std::string& folder);

  // Gives up a part. False: there is nothing left for this use.
  enum class Use : uint8_t {
    kLog,    // what a deletion and the opening of the database need
    kTable,  // a compaction: leaves a quarter for logs
  };
  bool GiveUp(Use use);
  bool low() const { return low_; }
  // Size of the file when the disk is not full.
  uint64_t size_wanted() const { return size_wanted_; }
  uint64_t bytes_for_tables() const { return size_wanted_ - size_wanted_ / kShareForLogs; }
  // Allocates what was given up. low() ends when the file is complete and the disk has space beyond
  // it.
  void Refill();
  // The disk takes writes: there is half of the file, and a block of it was written and synced.
  Status CheckWritable();

 private:
  ReserveFile(std::string folder, FileDescriptor file, uint64_t size_wanted, uint64_t size);
  bool FillLocked() AG_REQUIRES(mutex_);

  static constexpr uint64_t kShareForLogs = 4;

  const std::string folder_;
  const FileDescriptor file_;
  const uint64_t size_wanted_;
  Mutex mutex_;
  uint64_t size_ AG_GUARDED_BY(mutex_);
  std::atomic<bool> low_{false};
};

}  // namespace agent_graph::state
