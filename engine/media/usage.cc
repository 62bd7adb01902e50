#include "media/usage.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file_descriptor.h"
#include "media/file_lock.h"
#include "media/record.h"
#include "media/spool.h"

namespace agent_graph::media {
namespace {

constexpr char kName[] = "usage";
constexpr uint64_t kBlockBytes = 4096;

// True for the name of a file, its record or its text.
bool IsCounted(std::string_view name) {
  if (!IsFileId(name.substr(0, kFileIdBytes))) return false;
  name.remove_prefix(kFileIdBytes);
  return name.empty() || name == ".json" || name == ".txt";
}

Status Full() {
  return Status(StatusCode::kResourceExhausted, "the file storage is full");
}

uint64_t CountFiles(int root) {
  namespace fs = std::filesystem;
  uint64_t bytes = 0;
  std::error_code error;
  const fs::path path = "/proc/self/fd/" + std::to_string(root) + "/";
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (!entry->is_regular_file(gone)) continue;
    if (!IsCounted(entry->path().filename().native())) continue;
    const uint64_t size = entry->file_size(gone);
    if (!gone) bytes += RoomOf(size);
  }
  return bytes;
}

// The counter file, locked until the descriptor is closed.
class Counter {
 public:
  explicit Counter(int root) : root_(root) {}

  Status Open() {
    AG_ASSIGN_OR_RETURN(file_, LockFile(root_, kName));
    return Status::Ok();
  }

  // If the file is new or damaged, counts all files once.
  Result<uint64_t> Read() {
    char text[24];
    ssize_t got = pread(file_.get(), text, sizeof text, 0);
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text, text + std::max<ssize_t>(got, 0), value);
    if (error == std::errc()) return value;
    value = CountFiles(root_);
    AG_RETURN_IF_ERROR(Write(value));
    return value;
  }

  Status Write(uint64_t value) {
    std::string text = std::to_string(value) + "\n";
    text.resize(22, ' ');  // fixed length, so that no old digit remains
    if (pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return FileError("writing the counter of bytes");
    }
    return Status::Ok();
  }

 private:
  const int root_;
  FileDescriptor file_;
};

}  // namespace

uint64_t RoomOf(uint64_t size) {
  return (size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

Status CheckRoom(int root, int temporary, uint64_t bytes, uint64_t bytes_max) {
  Counter counter(root);
  AG_RETURN_IF_ERROR(counter.Open());
  AG_ASSIGN_OR_RETURN(uint64_t used, counter.Read());
  used += bytes;
  std::error_code error;
  const std::string path = "/proc/self/fd/" + std::to_string(temporary) + "/";
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const uint64_t size = entry->file_size(gone);
    if (!gone) used += RoomOf(size);
  }
  return used <= bytes_max ? Status::Ok() : Full();
}

Status Reserve(int root, uint64_t bytes, uint64_t bytes_max) {
  Counter counter(root);
  AG_RETURN_IF_ERROR(counter.Open());
  AG_ASSIGN_OR_RETURN(const uint64_t used, counter.Read());
  if (used > bytes_max || bytes > bytes_max - used) return Full();
  return counter.Write(used + bytes);
}

void Release(int root, uint64_t bytes) {
  Counter counter(root);
  if (!counter.Open().ok()) return;
  const Result<uint64_t> used = counter.Read();
  if (used.ok()) (void)counter.Write(*used - std::min(*used, bytes));
}

}  // namespace agent_graph::media
