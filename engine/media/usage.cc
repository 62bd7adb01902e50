#include "media/usage.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "media/file_lock.h"
#include "media/record.h"
#include "media/spool.h"

namespace agent_graph::media {
namespace {

constexpr char kName[] = "usage";
constexpr uint64_t kBlockBytes = 4096;
// Others hold the counter for moments only, unless they count all files. Who waits occupies a
// thread of the io pool.
constexpr std::chrono::seconds kWait{2};
// Content of the counter file while all files are counted.
constexpr std::string_view kCounting = "counting";

// True for the name of a file, its record or its text.
bool IsCounted(std::string_view name) {
  if (!IsFileId(name.substr(0, kFileIdBytes))) return false;
  name.remove_prefix(kFileIdBytes);
  return name.empty() || name == ".json" || name == ".txt";
}

Status Full() {
  return Status(StatusCode::kResourceExhausted, "the file storage is full");
}

Result<uint64_t> CountFiles(int root) {
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
  if (error) {
    return Status(StatusCode::kUnavailable, "the file storage failed")
        .WithDetail("counting the bytes of all files: " + error.message());
  }
  return bytes;
}

// The counter file, locked until the descriptor is closed.
class Counter {
 public:
  explicit Counter(int root) : root_(root) {}

  Status Open() {
    Result<FileDescriptor> file = LockFile(root_, kName, MonotonicClock::now());
    if (file.status().code() == StatusCode::kBusy && !IsCounting()) {
      file = LockFile(root_, kName, DeadlineAfter(kWait));
    }
    if (file.status().code() == StatusCode::kBusy) {
      return Status(StatusCode::kUnavailable, "the file storage is busy")
          .WithDetail("another process counts the bytes of all files");
    }
    AG_ASSIGN_OR_RETURN(file_, std::move(file));
    return Status::Ok();
  }

  // If the file is new or damaged, counts all files once.
  Result<uint64_t> Read() {
    const std::string text = Text(file_.get());
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc()) return value;
    AG_RETURN_IF_ERROR(WriteText(std::string(kCounting)));
    AG_ASSIGN_OR_RETURN(value, CountFiles(root_));
    AG_RETURN_IF_ERROR(Write(value));
    return value;
  }

  Status Write(uint64_t value) { return WriteText(std::to_string(value) + "\n"); }

 private:
  static constexpr size_t kTextBytes = 22;

  static std::string Text(int file) {
    std::string text(kTextBytes, '\0');
    const ssize_t got = pread(file, text.data(), text.size(), 0);
    text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  // True if the process that holds the counter counts all files, which may take minutes.
  bool IsCounting() const {
    const FileDescriptor file(openat(root_, kName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    return Text(file.get()).starts_with(kCounting);
  }

  Status WriteText(std::string text) {
    text.resize(kTextBytes, ' ');  // fixed length, so that no old digit remains
    if (pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return FileError("writing the counter of bytes");
    }
    return Status::Ok();
  }

  const int root_;
  FileDescriptor file_;
};

}  // namespace

uint64_t RoomOf(uint64_t size) {
  return (size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

Status CheckRoom(int root, int temporary, uint64_t bytes, uint64_t bytes_max) {
  uint64_t used = bytes;
  {
    Counter counter(root);
    AG_RETURN_IF_ERROR(counter.Open());
    AG_ASSIGN_OR_RETURN(const uint64_t stored, counter.Read());
    used += stored;
  }
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
