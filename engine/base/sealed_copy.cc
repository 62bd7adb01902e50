#include "base/sealed_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/elf_libraries.h"
#include "base/errno_text.h"
#include "base/file_content.h"

// Since Linux 6.3; the headers of Debian 12 do not define it.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace agent_graph {
namespace {

constexpr int kFirstDescriptor = 3;    // nginx redirects 0 to 2 when it becomes a daemon
constexpr size_t kNameBytesMax = 200;  // the kernel allows 249
constexpr size_t kFilesMax = 128;
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

// `name` is what /proc/PID/maps shows: "/memfd:support.so (deleted)".
FileDescriptor CreateMemory(const std::string& name) {
  // Code is mapped from it but it is never executed as a program, so it needs no execute
  // permission. A system may refuse to create memory with that permission (vm.memfd_noexec).
  int fd = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  FileDescriptor memory(fd);
  if (fd < 0 || fd >= kFirstDescriptor) return memory;
  return FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, kFirstDescriptor));
}

bool WriteAll(int fd, const std::string& content) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = write(fd, content.data() + done, content.size() - done);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += static_cast<size_t>(count);
  }
  return true;
}

// The current path of the open file; `path` itself if the kernel does not know it.
std::string ResolvedPath(int fd, const std::string& path) {
  std::error_code failed;
  auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), failed);
  return failed ? path : target.string();
}

Result<SealedFile> Copy(const std::string& path, const std::string& content, std::string origin) {
  const std::string name = path.substr(path.rfind('/') + 1).substr(0, kNameBytesMax);
  FileDescriptor memory = CreateMemory(name);
  if (!memory || !WriteAll(memory.get(), content) ||
      fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return InvalidArgument(path + ": cannot be copied to memory: " + ErrnoText(errno));
  }
  return SealedFile{std::move(memory), std::move(origin)};
}

// Path of the library if it lies beside the code in `folder`. Empty if there is none, or if the
// dynamic linker finds it elsewhere first.
std::string FindBeside(const std::string& name, const ElfLibraries& needed,
                       const std::string& folder) {
  if (name.find('/') != std::string::npos) return "";
  std::error_code failed;
  for (const std::string& place : needed.folders) {
    const std::string beside = ExpandOrigin(place, folder);
    const std::string path = (beside.empty() ? place : beside) + "/" + name;
    if (std::filesystem::exists(path, failed)) return beside.empty() ? "" : path;
  }
  return "";
}

}  // namespace

std::string OpenProblem(const std::string& path, int error) {
  const bool is_not_built = error == ENOENT && path.ends_with(".so");
  return "cannot be opened: " + ErrnoText(error) + (is_not_built ? " (compile it first)" : "");
}

Result<SealedCopy> SealedCopies::Of(const std::string& path, int64_t bytes_max) {
  // O_NONBLOCK: a FIFO or a terminal is refused below instead of blocking here.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return InvalidArgument(path + ": " + OpenProblem(path, errno));
  auto version = [&]() -> Version {
    struct stat status{};
    if (fstat(file.get(), &status) != 0) return {};
    return {status.st_dev,         status.st_ino,          status.st_size,
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
            status.st_ctim.tv_nsec};
  };
  const Version before = version();
  if (auto known = copies_.find(before); known != copies_.end()) return known->second;
  if (!being_copied_.insert(before).second) return SealedCopy();
  struct Removal {
    std::set<Version>& versions;
    const Version& version;
    ~Removal() { versions.erase(version); }
  } removal{being_copied_, before};
  Result<std::string> content = ReadFileContent(file.get(), bytes_max);
  if (!content.ok()) return InvalidArgument(path + ": " + content.status().message());
  // A mix of the old and the new content might pass every check.
  if (version() != before) return InvalidArgument(path + ": is being written; try again");
  AG_ASSIGN_OR_RETURN(SealedFile sealed, Copy(path, *content, ResolvedPath(file.get(), path)));
  AG_ASSIGN_OR_RETURN(sealed.libraries, CopyLibraries(path, *content, bytes_max));
  auto copy = std::make_shared<const SealedFile>(std::move(sealed));
  copies_.emplace(before, copy);
  return copy;
}

Result<std::vector<SealedLibrary>> SealedCopies::CopyLibraries(const std::string& path,
                                                               const std::string& content,
                                                               int64_t bytes_max) {
  const ElfLibraries needed = ReadElfLibraries(content);
  const std::string folder = std::filesystem::path(path).parent_path();
  std::vector<SealedLibrary> libraries;
  for (const std::string& name : needed.names) {
    const std::string library = FindBeside(name, needed, folder.empty() ? "." : folder);
    if (library.empty()) continue;
    if (copies_.size() + being_copied_.size() > kFilesMax) {
      return InvalidArgument(path + ": needs too many libraries beside it: at most " +
                             std::to_string(kFilesMax) + " files are copied");
    }
    AG_ASSIGN_OR_RETURN(SealedCopy copy, Of(library, bytes_max));
    if (copy != nullptr) libraries.push_back({name, std::move(copy)});
  }
  return libraries;
}

void AppendDescriptors(const SealedCopy& copy, std::vector<int>& descriptors) {
  if (copy == nullptr) return;
  descriptors.push_back(DescriptorOf(copy));
  for (const SealedLibrary& library : copy->libraries) AppendDescriptors(library.copy, descriptors);
}

}  // namespace agent_graph
