#include "base/disk_room.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace agent_graph {
namespace {

// Copies must leave this many bytes or this fraction (1/16) of the disk, whichever is less.
constexpr uintmax_t kRoomLeft = 128 * 1024 * 1024;
constexpr uintmax_t kRoomLeftShare = 16;

}  // namespace

Status CheckDiskRoom(const std::string& folder, uint64_t bytes) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  const uintmax_t left = std::min(kRoomLeft, space.capacity / kRoomLeftShare);
  if (error || space.available >= left + bytes) return Status::Ok();
  return Status(StatusCode::kResourceExhausted, "the disk has too little room for the copy");
}

}  // namespace agent_graph
