// Records how many bytes of LevelDB's logs and MANIFESTs were written and synced: the file SYNCED
// in the database's folder.
//
// The end of a log alone does not show whether its last record was torn by a power cut before it
// was acknowledged, or whether acknowledged records were damaged or cut off. Everything before a
// mark must be intact.
//
// The marks are written once after each commit but not synced, because that would double the cost
// of a commit. They survive the end of the process. After a power cut, and in a snapshot of the
// disk, they may be a second old, and the files lack bytes that were not synced. So the marks of
// written bytes are used only in the same boot of the machine and on the same mounted file system;
// else those of synced bytes are. They may cover too few bytes, never too many. Two copies are
// written alternately, each with a checksum.
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
  std::map<uint64_t, uint64_t> logs;       // file number → bytes that must be intact
  std::map<uint64_t, uint64_t> manifests;  // the same
};

// Thread-safe.
class SyncedMarks {
 public:
  static constexpr char kName[] = "SYNCED";

  // Creates the file if it is missing, and locks it. Returns kBusy if another process, or another
  // object, has the database open.
  static Result<std::unique_ptr<SyncedMarks>> Open(const std::string& folder);
  // Opens the marks for reading; writes have no effect. Several processes may read a database at a
  // time. kBusy: a process has it open for writing.
  static Result<std::unique_ptr<SyncedMarks>> OpenReadOnly(const std::string& folder);

  // The marks that Open found.
  const Marks& found() const { return found_; }
  // Call when the database has been checked: from then on the file records this process's writes.
  void Begin();
  // The kernel has received the file's bytes up to `bytes`. Only logs and MANIFESTs are recorded.
  void Written(const FileName& file, uint64_t bytes);
  // Like Written, and the bytes are on the disk.
  void Synced(const FileName& file, uint64_t bytes);
  // Writes the marks if they have changed; call before a write is acknowledged.
  void Publish();
  // Syncs the marks to the disk; blocks.
  void Flush();

 private:
  struct Mark {
    uint64_t synced = 0;
    uint64_t written = 0;
  };
  using MarkMap = std::map<uint64_t, Mark>;  // by file number
  struct Copy;

  SyncedMarks(std::string folder, FileDescriptor file);
  // `lock_type`: F_RDLCK or F_WRLCK.
  static Result<std::unique_ptr<SyncedMarks>> Lock(const std::string& folder, FileDescriptor file,
                                                   short lock_type);
  void Read();
  void SetLocked(const FileName& file, uint64_t bytes, bool synced) AG_REQUIRES(mutex_);
  void WriteLocked() AG_REQUIRES(mutex_);

  const std::string folder_;
  const FileDescriptor file_;
  const std::string boot_id_;
  const uint32_t mount_;
  Marks found_;
  Mutex mutex_;
  MarkMap logs_ AG_GUARDED_BY(mutex_);
  MarkMap manifests_ AG_GUARDED_BY(mutex_);
  uint64_t generation_ AG_GUARDED_BY(mutex_) = 0;
  bool published_ AG_GUARDED_BY(mutex_) = true;
  bool flushed_ AG_GUARDED_BY(mutex_) = true;
};

}  // namespace agent_graph::state
