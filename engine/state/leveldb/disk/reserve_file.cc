#include "state/leveldb/disk/reserve_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/errno_text.h"

namespace agent_graph::state {
namespace {

// A new reserve has the first size, and at most a share of the disk. Each time it is opened it may
// grow up to a share of the free space. It never shrinks: LevelDB has written its tables for this
// size, and on a full disk a restart would give away what is missing.
constexpr uint64_t kSizeFirst = uint64_t{128} * 1024 * 1024;
constexpr uint64_t kSizeMax = uint64_t{256} * 1024 * 1024;
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

std::filesystem::space_info DiskOf(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info disk = std::filesystem::space(folder, error);
  return error ? std::filesystem::space_info{kSizeFirst * kShareOfDisk, 0, 0} : disk;
}

bool HasRoomBeside(const std::string& folder, uint64_t reserve) {
  return DiskOf(folder).available >= std::min(kFreeMin, reserve);
}

// The size to which a complete reserve of `size` bytes may grow now.
uint64_t LargerSize(const std::string& folder, uint64_t size, uint64_t size_max) {
  const uint64_t free = DiskOf(folder).available;
  const uint64_t share = (free + size) / kShareOfFree / kStep * kStep;
  const uint64_t larger = std::min(std::max(share, kSizeFirst), size_max);
  return larger + kFreeMin < size + free ? larger : size;
}

// The first block of the file says how large the complete reserve is. A reserve of an older build
// says nothing.
using Block = std::array<char, 4096>;
constexpr std::string_view kSizeText = "MiB of the complete reserve: ";

// 0: it is not known.
uint64_t ReadSize(int file) {
  Block block{};
  const ssize_t count = pread(file, block.data(), block.size(), 0);
  const std::string_view text(block.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
  uint64_t steps = 0;
  if (!text.starts_with(kSizeText)) return 0;
  std::from_chars(text.data() + kSizeText.size(), text.data() + text.size(), steps);
  return std::min(steps, kSizeMax / kStep) * kStep;
}

bool WriteSize(int file, uint64_t size) {
  Block block{};
  std::ranges::copy(std::string(kSizeText) + std::to_string(size / kStep) + "\n", block.begin());
  return pwrite(file, block.data(), block.size(), 0) == ssize_t{block.size()};
}

// Allocates the file from `size` to `wanted`. True: it is complete, or cannot be allocated at all.
bool Fill(int file, uint64_t& size, uint64_t wanted) {
  while (size < wanted) {
    // From offset 0, in case another process has truncated the file.
    if (fallocate(file, 0, 0, static_cast<off_t>(size + kStep)) != 0) {
      const bool impossible = errno == EOPNOTSUPP || errno == ENOSYS;
      (void)ftruncate(file, static_cast<off_t>(size));  // drop a partially allocated step
      return impossible;
    }
    size += kStep;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<ReserveFile>> ReserveFile::Open(const std::string& folder) {
  const std::string path = folder + "/" + kName;
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0) return ReserveFailure(folder);
  const uint64_t size_max =
      std::min(DiskOf(folder).capacity / kShareOfDisk, kSizeMax) / kStep * kStep;
  // Unallocated bytes, for example in a sparse copy of the folder, are not a reserve.
  constexpr uint64_t kStatBlockBytes = 512;
  const uint64_t allocated = std::min(static_cast<uint64_t>(info.st_size),
                                      static_cast<uint64_t>(info.st_blocks) * kStatBlockBytes);
  const uint64_t known = ReadSize(file.get());
  uint64_t wanted = std::min(known != 0 ? known : std::max(allocated, kSizeFirst), size_max);
  wanted = wanted / kStep * kStep;
  uint64_t size = std::min(allocated / kStep * kStep, wanted);
  if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return ReserveFailure(folder);
  const bool was_complete = size == wanted;
  const bool low =
      !Fill(file.get(), size, wanted) || !(was_complete || HasRoomBeside(folder, wanted));
  if (!low) {
    const uint64_t larger = LargerSize(folder, size, size_max);
    if (larger > wanted && Fill(file.get(), size, larger)) wanted = larger;
    size = std::min(size, wanted);  // it is complete as it was, if it could not grow
    if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return ReserveFailure(folder);
  }
  // If this fails, the next opening takes the reserve for one of an older build.
  if (size > 0) (void)WriteSize(file.get(), wanted);
  return std::unique_ptr<ReserveFile>(new ReserveFile(folder, std::move(file), wanted, size, low));
}

ReserveFile::ReserveFile(std::string folder, FileDescriptor file, uint64_t size_wanted,
                         uint64_t size, bool low)
    : folder_(std::move(folder)),
      file_(std::move(file)),
      size_wanted_(size_wanted),
      size_(size),
      low_(low) {}

bool ReserveFile::GiveUp(Use use) {
  MutexLock lock(mutex_);
  low_ = true;
  // The first step has the block that says how large the complete reserve is.
  const uint64_t first = size_wanted_ > kStep ? kStep : 0;
  const uint64_t kept = use == Use::kTable ? size_wanted_ / kShareForLogs : first;
  if (size_ < std::max(kept, first) + kStep) return false;
  size_ -= kStep;
  // fsync, because a journaling file system makes freed blocks available only after its next
  // commit.
  return ftruncate(file_.get(), static_cast<off_t>(size_)) == 0 && fsync(file_.get()) == 0;
}

void ReserveFile::Refill() {
  MutexLock lock(mutex_);
  if (!low_ || !Fill(file_.get(), size_, size_wanted_)) return;
  low_ = !HasRoomBeside(folder_, size_wanted_);
}

Status ReserveFile::CheckWritable() {
  MutexLock lock(mutex_);
  // Where nothing can be allocated, the file is never there, and low() shows if there is room.
  if (low_ && size_ < size_wanted_ / 2) return Status(StatusCode::kUnavailable, "the disk is full");
  if (WriteSize(file_.get(), size_wanted_) && fdatasync(file_.get()) == 0) return Status::Ok();
  return ReserveFailure(folder_);
}

}  // namespace agent_graph::state
