// Notices that the files of an open database were deleted, moved or replaced.
//
// LevelDB goes on with the files that it has open, wherever they are now: writes would be
// acknowledged and be nowhere after a restart. The folder, CURRENT and the log in use must stay
// what they were when they were opened.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/status.h"

namespace agent_graph::state {

// A file, whatever its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Identity of the file at this path, or of an open one; nullopt: there is none.
std::optional<FileIdentity> IdentityOf(const std::string& path);
std::optional<FileIdentity> IdentityOf(int descriptor);

// Thread-safe. Calls are a few stat(2).
class FolderWatch {
 public:
  // The folder exists.
  explicit FolderWatch(std::string folder);

  // A log is in use from now on.
  void UseLog(const std::string& path, int descriptor);
  // The database is open: CURRENT is there, and must stay.
  void Begin();
  // The folder is where it was.
  bool HasFolder() const;
  // kUnavailable when one of them has gone. Before Begin always Ok.
  Status Check() const;

 private:
  const std::string folder_;
  const std::optional<FileIdentity> folder_identity_;
  mutable Mutex mutex_;
  std::optional<FileIdentity> current_ AG_GUARDED_BY(mutex_);  // nullopt: before Begin
  std::string log_path_ AG_GUARDED_BY(mutex_);
  std::optional<FileIdentity> log_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::state
