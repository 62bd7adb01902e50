// Private copies of files in anonymous memory (memfd) that cannot be changed. The validation of a
// configuration and all workers that run it use the same copy, so that an edit of the file, even in
// place, affects no running process before the next reload.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace agent_graph {

struct SealedFile;

// Shared by everything that uses the file. Null: there is no copy and the file itself is used.
using SealedCopy = std::shared_ptr<const SealedFile>;

// A shared library that lies beside the code that needs it.
struct SealedLibrary {
  std::string name;  // by which the code needs it
  SealedCopy copy;
};

struct SealedFile {
  FileDescriptor content;
  std::string origin;  // path of the file that was copied, without symbolic links
  // For a shared object: its needed libraries that are found through $ORIGIN. The dynamic linker
  // cannot find them itself, because the copy is in no folder.
  std::vector<SealedLibrary> libraries = {};
};

// The reason why open() has failed for a file that would be copied.
std::string OpenProblem(const std::string& path, int error);

// The descriptor of the copy; -1 if there is none.
inline int DescriptorOf(const SealedCopy& copy) {
  return copy == nullptr ? -1 : copy->content.get();
}

// The copies made while one configuration is read. Not thread-safe.
class SealedCopies {
 public:
  // Copies the regular file `path`. The same unchanged file gives the same copy, so code that
  // several parts of a configuration name is loaded once and shares its variables. Libraries that a
  // shared object needs from its own folder are copied, too, with the same bound. Descriptors are
  // above 2, closed by exec, and readable by every user. Failures are kInvalidArgument: one line
  // that begins with the path.
  Result<SealedCopy> Of(const std::string& path, int64_t bytes_max);

 private:
  // Identity and version of a file: device, inode, size, times of modification and change.
  using Version = std::tuple<dev_t, ino_t, off_t, int64_t, int64_t, int64_t, int64_t>;

  Result<std::vector<SealedLibrary>> CopyLibraries(const std::string& path,
                                                   const std::string& content, int64_t bytes_max);

  std::map<Version, SealedCopy> copies_;
  std::set<Version> being_copied_;  // libraries may need each other
};

// Appends the descriptors of the copy and of its libraries.
void AppendDescriptors(const SealedCopy& copy, std::vector<int>& descriptors);

}  // namespace agent_graph
