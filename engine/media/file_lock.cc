#include "media/file_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "media/spool.h"

namespace agent_graph::media {
namespace {

// Poll interval: the kernel offers a blocking wait only without a time limit.
constexpr std::chrono::milliseconds kInterval{20};

}  // namespace

Result<FileDescriptor> LockFile(int folder, const char* name, Deadline deadline) {
  FileDescriptor file(openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return FileError("opening a lock");
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  // The lock belongs to the open file, not to the process, so it also excludes other threads.
  const int command = deadline == kNoDeadline ? F_OFD_SETLKW : F_OFD_SETLK;
  while (fcntl(file.get(), command, &lock) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES) return FileError("locking");
    if (MonotonicClock::now() >= deadline)
      return Status(StatusCode::kBusy, "another process holds it");
    std::this_thread::sleep_for(kInterval);
  }
  return file;
}

}  // namespace agent_graph::media
