#include "process/spawner_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "process/spawner.h"

namespace agent_graph::process {
namespace {

constexpr char kCurrentName[] = "spawner.sock";
constexpr int kBacklog = 128;

Status Failure(const std::string& what) {
  return Status(StatusCode::kUnavailable, "no spawner: " + what + ": " + strerror(errno));
}

// Whatever the length of the directory's own path, an entry's fits into an address.
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

// Names whose process is gone.
void RemoveStale(const Directory& directory) {
  DIR* listing = fdopendir(dup(directory.fd()));
  if (listing == nullptr) return;
  rewinddir(listing);
  while (const dirent* entry = readdir(listing)) {
    int pid = 0;
    char end = 0;
    if (sscanf(entry->d_name, "spawner.%d.soc%c", &pid, &end) != 2 || end != 'k') continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) unlinkat(directory.fd(), entry->d_name, 0);
  }
  closedir(listing);
}

}  // namespace

Result<int> ListenForSpawner(const std::string& state_directory) {
  if (mkdir(state_directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failure(state_directory);
  }
  const Directory directory(state_directory);
  if (directory.fd() < 0) return Failure(state_directory);
  RemoveStale(directory);
  const std::string name = "spawner." + std::to_string(getpid()) + ".sock";
  sockaddr_un address;
  if (!directory.Address(name, address)) return Failure(name);
  const int socket = OpenSocket();
  if (socket < 0) return Failure("socket");
  unlinkat(directory.fd(), name.c_str(), 0);
  const std::string link = name + ".new";
  unlinkat(directory.fd(), link.c_str(), 0);
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket, kBacklog) != 0 || symlinkat(name.c_str(), directory.fd(), link.c_str()) != 0 ||
      renameat(directory.fd(), link.c_str(), directory.fd(), kCurrentName) != 0) {
    const Status failure = Failure(name);
    close(socket);
    return failure;
  }
  return socket;
}

Result<int> ConnectToSpawner(const std::string& state_directory) {
  const Directory directory(state_directory);
  if (directory.fd() < 0) return Failure(state_directory);
  sockaddr_un address;
  if (!directory.Address(kCurrentName, address)) return Failure(kCurrentName);
  const int socket = OpenSocket();
  if (socket < 0) return Failure("socket");
  if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      !IsTrustedPeer(socket)) {
    const Status failure = Failure("connect");
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
