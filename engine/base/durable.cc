#include "base/durable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_text.h"
#include "base/file_descriptor.h"

namespace agent_graph {

Status SyncPath(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file && fsync(file.get()) == 0) return Status::Ok();
  return Status(StatusCode::kUnavailable, path + " cannot be synced: " + ErrnoText(errno));
}

}  // namespace agent_graph
