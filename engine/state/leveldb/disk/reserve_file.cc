#include "state/leveldb/disk/reserve_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/errno_text.h"

namespace agent_graph::state {
namespace {

// The size is a share of the free space within these two, and at most a share of the disk. A disk
// that is nearly full keeps the smaller size, because writes are refused until the reserve is
// complete.
constexpr uint64_t kSizeMax = uint64_t{256} * 1024 * 1024;
constexpr uint64_t kSizeOnFullDisk = uint64_t{128} * 1024 * 1024;
constexpr uint64_t kShareOfFree = 8;
constexpr uint64_t kShareOfDisk = 4;
constexpr uint64_t kStep = uint64_t{1024} * 1024;
// Minimum free space beside a complete reserve before writes are accepted again. Without it each
// write would use up a part of the reserve.
constexpr uint64_t kFreeMin = uint64_t{4} * 1024 * 1024;

Status ReserveFailure(const std::string& folder) {
  return Status(StatusCode::kUnavailable, "the state database does not answer")
      .WithDetail(folder + "/" + ReserveFile::kName + ": " + ErrnoText(errno));
}

// `allocated`: bytes that the reserve has already.
uint64_t SizeFor(const std::string& folder, uint64_t allocated) {
  struct statvfs disk{};
  if (statvfs(folder.c_str(), &disk) != 0) return kSizeOnFullDisk;
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize + allocated;
  const uint64_t size = std::clamp(free / kShareOfFree, kSizeOnFullDisk, kSizeMax);
  const uint64_t share = uint64_t{disk.f_blocks} * disk.f_frsize / kShareOfDisk;
  return std::min(size, share) / kStep * kStep;
}

}  // namespace

Result<std::unique_ptr<ReserveFile>> ReserveFile::Open(const std::string& folder) {
  const std::string path = folder + "/" + kName;
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0) return ReserveFailure(folder);
  // Unallocated bytes, for example in a sparse copy of the folder, are not a reserve.
  constexpr uint64_t kStatBlockBytes = 512;
  const uint64_t allocated = std::min(static_cast<uint64_t>(info.st_size),
                                      static_cast<uint64_t>(info.st_blocks) * kStatBlockBytes);
  const uint64_t wanted = SizeFor(folder, allocated);
  const uint64_t size = std::min(allocated / kStep * kStep, wanted);
  if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return ReserveFailure(folder);
  std::unique_ptr<ReserveFile> reserve(new ReserveFile(folder, std::move(file), wanted, size));
  MutexLock lock(reserve->mutex_);
  reserve->low_ = !reserve->FillLocked();
  return reserve;
}

ReserveFile::ReserveFile(std::string folder, FileDescriptor file, uint64_t size_wanted,
                         uint64_t size)
    : folder_(std::move(folder)), file_(std::move(file)), size_wanted_(size_wanted), size_(size) {}

bool ReserveFile::GiveUp(Use use) {
  MutexLock lock(mutex_);
  low_ = true;
  const uint64_t kept = use == Use::kTable ? size_wanted_ / kShareForLogs : 0;
  if (size_ < kept + kStep) return false;
  size_ -= kStep;
  // fsync, because a journaling file system makes freed blocks available only after its next
  // commit.
  return ftruncate(file_.get(), static_cast<off_t>(size_)) == 0 && fsync(file_.get()) == 0;
}

void ReserveFile::Refill() {
  MutexLock lock(mutex_);
  if (!low_ || !FillLocked()) return;
  struct statvfs disk{};
  if (statvfs(folder_.c_str(), &disk) != 0) return;
  low_ = uint64_t{disk.f_bavail} * disk.f_frsize < std::min(kFreeMin, size_wanted_);
}

bool ReserveFile::FillLocked() {
  while (size_ < size_wanted_) {
    // From offset 0, in case another process has truncated the file.
    if (fallocate(file_.get(), 0, 0, static_cast<off_t>(size_ + kStep)) != 0) {
      const bool impossible = errno == EOPNOTSUPP || errno == ENOSYS;
      (void)ftruncate(file_.get(), static_cast<off_t>(size_));  // drop a partially allocated step
      return impossible;
    }
    size_ += kStep;
  }
  return true;
}

Status ReserveFile::CheckWritable() {
  MutexLock lock(mutex_);
  if (size_ < size_wanted_ / 2) return Status(StatusCode::kUnavailable, "the disk is full");
  const std::array<char, 4096> block{};
  if (pwrite(file_.get(), block.data(), block.size(), 0) == ssize_t{block.size()} &&
      fdatasync(file_.get()) == 0) {
    return Status::Ok();
  }
  return ReserveFailure(folder_);
}

}  // namespace agent_graph::state
