// Detects that the files of an open database were deleted, moved or replaced.
//
// LevelDB continues to write to the files that it has open, wherever they are: writes would be
// acknowledged but lost after a restart. The folder, CURRENT and the current log must therefore
// remain the same files as when they were opened.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/status.h"

namespace agent_graph::state {

// Identifies a file independently of its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Returns the identity of the file at this path, or of an open file; nullopt if there is none.
std::optional<FileIdentity> IdentityOf(const std::string& path);
std::optional<FileIdentity> IdentityOf(int descriptor);

// Thread-safe. Each call makes a few stat(2) calls.
class FolderWatch {
 public:
  // The folder must exist.
  explicit FolderWatch(std::string folder);

  // Sets the log that is in use from now on.
  void UseLog(const std::string& path, int descriptor);
  // Call when the database is open: from then on CURRENT must stay in place.
  void Begin();
  // True if the folder is still at its path.
  bool HasFolder() const;
  // Returns kUnavailable if one of the files is gone. Before Begin always Ok.
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
