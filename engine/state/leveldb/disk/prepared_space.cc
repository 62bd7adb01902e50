#include "state/leveldb/disk/prepared_space.h"

#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace agent_graph::state {
namespace {

constexpr char kZeros[64 * 1024] = {};

// File systems that write all data to a new place gain nothing.
bool WritesInPlace(int file) {
  constexpr unsigned long kBtrfs = 0x9123683e;
  constexpr unsigned long kZfs = 0x2fc12fc1;
  struct statfs info{};
  if (fstatfs(file, &info) != 0) return false;
  const auto type = static_cast<unsigned long>(info.f_type);
  return type != kBtrfs && type != kZfs;
}

// On a nearly full disk, zeros could use up the space that the reserve releases for compactions.
bool HasRoom(int file) {
  struct statvfs info{};
  if (fstatvfs(file, &info) != 0) return false;
  return uint64_t{info.f_bavail} * info.f_frsize >= PreparedSpace::kRoomBytes;
}

}  // namespace

PreparedSpace::PreparedSpace(int file) : file_(file), is_useful_(WritesInPlace(file)) {}

void PreparedSpace::Prepare(uint64_t begin, size_t bytes) {
  const uint64_t needed = begin + bytes;
  if (!is_useful_ || needed <= end_ || !HasRoom(file_)) return;
  uint64_t at = std::max(begin, end_);
  end_ = needed + kAheadBytes;
  while (at < end_) {
    const auto part = std::min<uint64_t>(sizeof kZeros, end_ - at);
    const ssize_t wrote = pwrite(file_, kZeros, part, static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      is_useful_ = false;
      return;
    }
    at += static_cast<uint64_t>(wrote);
  }
}

void PreparedSpace::Release(uint64_t end) {
  if (end_ > end) (void)!ftruncate(file_, static_cast<off_t>(end));
}

}  // namespace agent_graph::state
