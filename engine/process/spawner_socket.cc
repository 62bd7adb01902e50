#include "process/spawner_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/file_descriptor.h"
#include "process/spawner.h"

namespace agent_graph::process {
namespace {

constexpr char kCurrentName[] = "spawner.sock";
constexpr int kBacklog = 128;

Status NoSpawner(const std::string& what) {
  const std::string reason = std::generic_category().message(errno);
  return Status(StatusCode::kUnavailable, "no spawner: " + what + ": " + reason);
}

// Gives its entries addresses of a fixed length, because the full path may be too long for a socket
// address.
class Directory {
 public:
  explicit Directory(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~Directory() {
    if (fd_ >= 0) close(fd_);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  int fd() const { return fd_; }
  bool Address(const std::string& name, sockaddr_un& address) const {
    const std::string path = "/proc/self/fd/" + std::to_string(fd_) + "/" + name;
    if (path.size() >= sizeof address.sun_path) return false;
    address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return true;
  }

 private:
  const int fd_;
};

int OpenSocket() {
  return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// True if no process listens on this socket. The process id in the name is no proof: another
// process may have that id now.
bool IsStale(const Directory& directory, const std::string& name) {
  sockaddr_un address;
  if (!directory.Address(name, address)) return false;
  const FileDescriptor probe(OpenSocket());
  return probe &&
         connect(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
         (errno == ECONNREFUSED || errno == ENOENT);
}

void RemoveStale(const Directory& directory) {
  const int copy = openat(directory.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy < 0 ? nullptr : fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) close(copy);
    return;
  }
  while (const dirent* entry = readdir(listing)) {  // NOLINT: only this thread reads it
    const std::string_view name = entry->d_name;
    const bool is_ours = name.starts_with("spawner.") && name != kCurrentName &&
                         (name.ends_with(".sock") || name.ends_with(".sock.new"));
    if (is_ours && IsStale(directory, entry->d_name)) unlinkat(directory.fd(), entry->d_name, 0);
  }
  closedir(listing);
}

}  // namespace

void SpawnerListener::Close() {
  for (int* descriptor : {&socket, &folder}) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
  }
}

void SpawnerListener::End() {
  struct stat file{};
  // A process with the same id may have created its own socket there.
  if (fstatat(folder, name.c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0 && file.st_ino == inode) {
    unlinkat(folder, name.c_str(), 0);
  }
  Close();
}

Result<SpawnerListener> ListenForSpawner(const std::string& state_directory) {
  if (mkdir(state_directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return NoSpawner(state_directory);
  }
  const Directory directory(state_directory);
  if (directory.fd() < 0) return NoSpawner(state_directory);
  RemoveStale(directory);
  SpawnerListener listener;
  listener.name = "spawner." + std::to_string(getpid()) + ".sock";
  const char* name = listener.name.c_str();
  const std::string link = listener.name + ".new";
  sockaddr_un address;
  if (!directory.Address(listener.name, address)) return NoSpawner(listener.name);
  listener.socket = OpenSocket();
  listener.folder = fcntl(directory.fd(), F_DUPFD_CLOEXEC, 0);
  unlinkat(directory.fd(), name, 0);
  unlinkat(directory.fd(), link.c_str(), 0);
  struct stat file{};
  if (listener.socket < 0 || listener.folder < 0 ||
      bind(listener.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.socket, kBacklog) != 0 || fstatat(directory.fd(), name, &file, 0) != 0 ||
      symlinkat(name, directory.fd(), link.c_str()) != 0 ||
      renameat(directory.fd(), link.c_str(), directory.fd(), kCurrentName) != 0) {
    const Status failure = NoSpawner(listener.name);
    listener.Close();
    return failure;
  }
  listener.inode = file.st_ino;
  return listener;
}

Result<int> ConnectToSpawner(const std::string& state_directory) {
  const Directory directory(state_directory);
  if (directory.fd() < 0) return NoSpawner(state_directory);
  sockaddr_un address;
  if (!directory.Address(kCurrentName, address)) return NoSpawner(kCurrentName);
  const int socket = OpenSocket();
  if (socket < 0) return NoSpawner("socket");
  if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      !IsTrustedPeer(socket)) {
    const Status failure = NoSpawner("connect");
    close(socket);
    return failure;
  }
  return socket;
}

bool IsTrustedPeer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

}  // namespace agent_graph::process
