#include "media/file_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "media/spool.h"

namespace agent_graph::media {

Result<FileDescriptor> LockFile(int folder, const char* name) {
  FileDescriptor file(openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return FileError("opening a lock");
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  // Of the open file, not of the process: threads exclude each other, too.
  while (fcntl(file.get(), F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) return FileError("locking");
  }
  return file;
}

}  // namespace agent_graph::media
