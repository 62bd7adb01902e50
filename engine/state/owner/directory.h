// The state directory: who may use it, the lock that makes an owner, the socket's names.
//
//   owner.lock          locked by the state owner (an open file description lock: it goes with the
//                       process, and a second open of the file does not release it)
//   owner.<epoch>.sock  the owner's socket; owner.sock is a symlink to the newest
//   db/                 LevelDB
//   backups/            copies of db/ made on demand
//   index/              search indexes that save the time of building them; made from db/
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace agent_graph::state {

class StateDirectory {
 public:
  static constexpr uid_t kNobodyElse = static_cast<uid_t>(-1);

  // kPermissionDenied when group or others may enter the directory, or another user owns it; a
  // process of root also takes one of `root_serves`.
  static Result<StateDirectory> Open(const std::string& path, uid_t root_serves = kNobodyElse);
  // The same, created with mode 0700 when it is missing.
  static Result<StateDirectory> Create(const std::string& path, uid_t root_serves = kNobodyElse);
  // A folder that holds a database and that no owner has ever locked: a backup.
  static bool IsBackup(const std::string& path);
  // Without the check of who may use it: nobody connects to a backup.
  static Result<StateDirectory> OpenBackup(const std::string& path);

  const std::string& path() const { return path_; }
  std::string database_path() const { return path_ + "/db"; }
  std::string index_path() const { return path_ + "/index"; }
  std::string backup_path() const { return path_ + "/backups"; }

  // Takes owner.lock, without waiting. kBusy: another process is the owner.
  Result<FileDescriptor> TryLock() const;

  // Another process, or another open file of ours, has the lock.
  bool IsOwned() const;

  // A listening socket under the epoch's name, made current. Only under the lock: sockets of
  // earlier owners are removed.
  Result<FileDescriptor> Listen(uint64_t epoch) const;
  // The epoch's socket is there and current: nobody has removed it.
  bool HasSocket(uint64_t epoch) const;
  void RemoveSocket(uint64_t epoch) const;
  // A connection to the current owner, non-blocking; kUnavailable when there is none.
  Result<FileDescriptor> Connect() const;

 private:
  StateDirectory(std::string path, FileDescriptor fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  // A path to an entry that fits in sun_path however long the directory's own path is.
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
