#include "state/directory/state_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "base/errno_text.h"

namespace agent_graph::state {
namespace {

constexpr char kLockName[] = "owner.lock";
constexpr char kSocketName[] = "owner.sock";
constexpr char kNewSocketName[] = "owner.sock.new";
constexpr int kListenBacklog = 128;

std::string SocketName(uint64_t epoch) {
  return "owner." + std::to_string(epoch) + ".sock";
}

Status SystemError(StatusCode code, const std::string& what) {
  return Status(code, what + ": " + ErrnoText(errno));
}

Result<FileDescriptor> OpenFolder(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return SystemError(StatusCode::kUnavailable, "state directory " + path);
  return fd;
}

Status CheckAccess(const std::string& path, int fd, uid_t root_serves) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return SystemError(StatusCode::kUnavailable, path);
  constexpr mode_t kGroupAndOthers = 0077;
  const bool ours =
      info.st_uid == geteuid() ||
      (geteuid() == 0 && root_serves != StateOptions::kNobodyElse && info.st_uid == root_serves);
  if (ours && (info.st_mode & kGroupAndOthers) == 0) return Status::Ok();
  char found[96];
  std::snprintf(found, sizeof found, "it belongs to uid %u and has mode %04o, we are uid %u",
                info.st_uid, info.st_mode & 07777, geteuid());
  return Status(StatusCode::kPermissionDenied,
                "state directory " + path + " must be private (mode 0700): " + found);
}

// Creates an unconnected socket and sets `address` to `path`.
Result<FileDescriptor> MakeSocket(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Status(StatusCode::kInternal, "socket path too long");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return SystemError(StatusCode::kUnavailable, "socket");
  return socket;
}

}  // namespace

Result<StateDirectory> StateDirectory::Create(const std::string& path, uid_t root_serves) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return SystemError(StatusCode::kUnavailable, "state directory " + path);
  }
  return Open(path, root_serves);
}

Result<StateDirectory> StateDirectory::Open(const std::string& path, uid_t root_serves) {
  AG_ASSIGN_OR_RETURN(FileDescriptor fd, OpenFolder(path));
  AG_RETURN_IF_ERROR(CheckAccess(path, fd.get(), root_serves));
  return StateDirectory(path, std::move(fd));
}

bool StateDirectory::IsBackup(const std::string& path) {
  return access((path + "/db/CURRENT").c_str(), F_OK) == 0 &&
         access((path + "/" + kLockName).c_str(), F_OK) != 0 && errno == ENOENT;
}

Result<StateDirectory> StateDirectory::OpenBackup(const std::string& path) {
  AG_ASSIGN_OR_RETURN(FileDescriptor fd, OpenFolder(path));
  return StateDirectory(path, std::move(fd));
}

std::string StateDirectory::EntryPath(const std::string& name) const {
  return "/proc/self/fd/" + std::to_string(fd_.get()) + "/" + name;
}

Result<FileDescriptor> StateDirectory::TryLock() const {
  FileDescriptor file(openat(fd_.get(), kLockName, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return SystemError(StatusCode::kUnavailable, path_ + "/" + kLockName);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return file;
  if (errno == EAGAIN || errno == EACCES) {
    return Status(StatusCode::kBusy, "another process serves the state of " + path_);
  }
  return SystemError(StatusCode::kUnavailable, "locking " + path_ + "/" + kLockName);
}

uint64_t StateDirectory::NextNumber(uint64_t now) const {
  constexpr size_t kDigitsMax = 20;
  const FileDescriptor file(openat(fd_.get(), kLockName, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  char text[kDigitsMax];
  const ssize_t size = pread(file.get(), text, sizeof text, 0);
  uint64_t last = 0;
  std::from_chars(text, text + std::max<ssize_t>(size, 0), last);
  const uint64_t next = std::max(now, last + 1);
  // If this fails, for example on a full disk, the clock decides.
  const std::string written = std::to_string(next);
  (void)!pwrite(file.get(), written.data(), written.size(), 0);
  return next;
}

bool StateDirectory::IsServed() const {
  const FileDescriptor file(openat(fd_.get(), kLockName, O_RDWR | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return file && fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void StateDirectory::RemoveStaleSockets() const {
  int copy = openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(copy), closedir);
  if (!entries) {
    close(copy);
    return;
  }
  while (const dirent* entry = readdir(entries.get())) {  // NOLINT: only this thread reads it
    std::string name = entry->d_name;
    if (name.starts_with("owner.") && name.ends_with(".sock") && name != kSocketName) {
      unlinkat(fd_.get(), name.c_str(), 0);
    }
  }
}

Result<FileDescriptor> StateDirectory::Listen(uint64_t epoch) const {
  RemoveStaleSockets();
  const std::string name = SocketName(epoch);
  sockaddr_un address;
  AG_ASSIGN_OR_RETURN(FileDescriptor socket, MakeSocket(EntryPath(name), address));
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.get(), kListenBacklog) != 0) {
    return SystemError(StatusCode::kUnavailable, "socket " + path_ + "/" + name);
  }
  unlinkat(fd_.get(), kNewSocketName, 0);
  if (symlinkat(name.c_str(), fd_.get(), kNewSocketName) != 0 ||
      renameat(fd_.get(), kNewSocketName, fd_.get(), kSocketName) != 0) {
    return SystemError(StatusCode::kUnavailable, "socket " + path_ + "/" + kSocketName);
  }
  return socket;
}

bool StateDirectory::HasSocket(uint64_t epoch) const {
  struct stat found{};
  struct stat own{};
  return fstatat(fd_.get(), kSocketName, &found, 0) == 0 &&
         fstatat(fd_.get(), SocketName(epoch).c_str(), &own, 0) == 0 &&
         found.st_ino == own.st_ino && S_ISSOCK(own.st_mode);
}

void StateDirectory::RemoveSocket(uint64_t epoch) const {
  unlinkat(fd_.get(), SocketName(epoch).c_str(), 0);
}

Result<FileDescriptor> StateDirectory::Connect() const {
  sockaddr_un address;
  AG_ASSIGN_OR_RETURN(FileDescriptor socket, MakeSocket(EntryPath(kSocketName), address));
  // connect on a Unix socket succeeds at once or fails (EAGAIN: the server's backlog is full).
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return SystemError(StatusCode::kUnavailable, "state server of " + path_);
  }
  if (!PeerOf(socket.get()).trusted) {
    return Status(StatusCode::kPermissionDenied,
                  "the state server of " + path_ + " runs as another user");
  }
  return socket;
}

Peer PeerOf(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {};
  return {credentials.pid, credentials.uid == geteuid() || credentials.uid == 0};
}

}  // namespace agent_graph::state
