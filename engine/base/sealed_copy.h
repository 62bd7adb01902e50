// Private copies of files in anonymous memory (memfd) that nobody can change. The validation of a
// configuration and every worker of it use the same copy, so that an edit of the file, even in
// place, reaches no running process before the next reload.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace agent_graph {

struct SealedFile {
  FileDescriptor content;
  std::string origin;  // the path of the file that was copied, without symbolic links
};

// Shared by everything that uses the file; null: there is no copy, the file itself is used.
using SealedCopy = std::shared_ptr<const SealedFile>;

// The descriptor of a copy; -1 without one.
inline int DescriptorOf(const SealedCopy& copy) {
  return copy == nullptr ? -1 : copy->content.get();
}

// The copies made while one configuration is read. Not thread-safe.
class SealedCopies {
 public:
  // Copies the regular file `path`. The same unchanged file gives the same copy: code that several
  // parts of a configuration name is then loaded once and shares its variables. Descriptors are
  // above 2, closed by exec, and readable by every user. Failures are kInvalidArgument, one line
  // that begins with the path.
  Result<SealedCopy> Of(const std::string& path, int64_t bytes_max);

 private:
  // Identity and version of a file: device, inode, size, times of modification and change.
  using Version = std::tuple<dev_t, ino_t, off_t, int64_t, int64_t, int64_t, int64_t>;

  std::map<Version, SealedCopy> copies_;
};

}  // namespace agent_graph
