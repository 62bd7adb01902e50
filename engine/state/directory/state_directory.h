// The state directory: permission check, the lock that selects the state server, socket names.
//
//   owner.lock          locked by the state server (an open file description lock: released when
//                       the process ends, but not when it closes another descriptor of the file)
//   owner.<epoch>.sock  the server's socket; owner.sock is a symlink to the newest
//   db/                 LevelDB
//   backups/            copies of db/ and of uploaded files, made on request
//   index/              search indexes derived from db/, kept to save the time to rebuild them
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "state/options.h"

namespace agent_graph::state {

// An opened state directory. Functions may block for file system operations. Thread-safe: immutable
// after it was opened.
class StateDirectory {
 public:
  // Opens the directory. Returns kPermissionDenied if group or others have access to it, or if
  // another user owns it; a root process also accepts the owner `root_serves`.
  static Result<StateDirectory> Open(const std::string& path,
                                     uid_t root_serves = StateOptions::kNobodyElse);
  // Like Open, but creates a missing directory with mode 0700.
  static Result<StateDirectory> Create(const std::string& path,
                                       uid_t root_serves = StateOptions::kNobodyElse);
  // True for a folder with a database that no state server has ever locked: a backup.
  static bool IsBackup(const std::string& path);
  // Like Open, but without the permission check: clients never connect to a backup.
  static Result<StateDirectory> OpenBackup(const std::string& path);

  const std::string& path() const { return path_; }
  std::string database_path() const { return path_ + "/db"; }
  std::string index_path() const { return path_ + "/index"; }
  std::string backup_path() const { return path_ + "/backups"; }

  // Takes owner.lock without waiting. Returns kBusy if another process is the state server.
  Result<FileDescriptor> TryLock() const;

  // Returns `now`, or a larger number if an earlier call, of any process, has returned `now` or
  // more: the clock may have been set back. The last number is kept in owner.lock.
  uint64_t NextNumber(uint64_t now) const;

  // True if another process, or another open file of this process, has the lock.
  bool IsServed() const;

  // Creates a listening socket with the epoch's name and points owner.sock to it. Call with the
  // lock held: it removes the sockets of earlier servers.
  Result<FileDescriptor> Listen(uint64_t epoch) const;
  // True if the epoch's socket file exists and owner.sock points to it.
  bool HasSocket(uint64_t epoch) const;
  void RemoveSocket(uint64_t epoch) const;
  // Opens a non-blocking connection to the current state server; kUnavailable if there is none.
  Result<FileDescriptor> Connect() const;

 private:
  StateDirectory(std::string path, FileDescriptor fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  // Returns a path to an entry that fits in sun_path, however long the directory's own path is.
  std::string EntryPath(const std::string& name) const;
  void RemoveStaleSockets() const;

  std::string path_;
  FileDescriptor fd_;
};

// The process at the other end of a connected Unix socket.
struct Peer {
  int64_t process = 0;
  bool trusted = false;  // same user as ours, or root
};
Peer PeerOf(int socket);

}  // namespace agent_graph::state
