#include "base/file_content.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_text.h"

namespace agent_graph {
Result<std::string> ReadFileContent(int fd, int64_t bytes_max) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return InvalidArgument("cannot be read: " + ErrnoText(errno));
  if (!S_ISREG(status.st_mode)) return InvalidArgument("is not a regular file");
  if (status.st_size > bytes_max) {
    return InvalidArgument("is larger than " + std::to_string(bytes_max) + " bytes");
  }
  std::string content(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count =
        pread(fd, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return InvalidArgument("cannot be read: " + ErrnoText(errno));
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  content.resize(done);
  return content;
}

}  // namespace agent_graph
