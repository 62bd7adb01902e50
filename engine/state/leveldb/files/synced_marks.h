// How far LevelDB's logs and MANIFESTs were written and synced: the file SYNCED in the database's
// folder.
//
// The end of a log alone does not show whether its last record was torn by a power cut, before it
// was acknowledged, or whether acknowledged records were damaged or cut off. Everything before
// a mark must be whole.
//
// The marks are written after each write and not synced, which would double the cost of a commit.
// They survive the death of the process. After a power cut they may be a second old; then only
// those of synced bytes count, and they say less than they could, never too much. Two copies are
// written in turns, each with a checksum.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/leveldb/files/names.h"

namespace agent_graph::state {

struct Marks {
  std::map<uint64_t, uint64_t> logs;       // number → bytes that must be whole
  std::map<uint64_t, uint64_t> manifests;  // the same
};

// Thread-safe.
class SyncedMarks {
 public:
  static constexpr char kName[] = "SYNCED";

  // Creates the file if it is missing, and locks it. kBusy: another process, or another object, has
  // the database open.
  static Result<std::unique_ptr<SyncedMarks>> Open(const std::string& folder);

  // As found by Open.
  const Marks& found() const { return found_; }
  // The database was checked: from here on the file says what this process writes.
  void Begin();
  // The kernel has all bytes of the file up to `bytes`. Files other than logs and MANIFESTs do not
  // count.
  void Written(const FileName& file, uint64_t bytes);
  // The same, and they are on the disk.
  void Synced(const FileName& file, uint64_t bytes);
  // Brings the marks to the disk; blocks.
  void Flush();

 private:
  struct Mark {
    uint64_t synced = 0;
    uint64_t written = 0;
  };
  using MarkMap = std::map<uint64_t, Mark>;  // by number of the file
  struct Copy;

  SyncedMarks(std::string folder, FileDescriptor file);
  void Read();
  void SetLocked(const FileName& file, uint64_t bytes, bool synced) AG_REQUIRES(mutex_);
  void WriteLocked() AG_REQUIRES(mutex_);

  const std::string folder_;
  const FileDescriptor file_;
  const std::string boot_id_;
  Marks found_;
  Mutex mutex_;
  MarkMap logs_ AG_GUARDED_BY(mutex_);
  MarkMap manifests_ AG_GUARDED_BY(mutex_);
  uint64_t generation_ AG_GUARDED_BY(mutex_) = 0;
  bool flushed_ AG_GUARDED_BY(mutex_) = true;
};

}  // namespace agent_graph::state
