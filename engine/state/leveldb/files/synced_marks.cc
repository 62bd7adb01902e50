#include "state/leveldb/files/synced_marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <utility>

#include "base/crc32c.h"
#include "base/errno_text.h"

namespace agent_graph::state {
namespace {

constexpr size_t kLogsKept = 4;
constexpr size_t kManifestsKept = 2;
constexpr off_t kCopyBytes = 512;  // one disk sector, which is written atomically
constexpr char kMagic[8] = {'A', 'G', 'S', 'Y', 'N', 'C', '0', '1'};

std::string ReadBootId() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

// Identifies the mounted file system of a file; 0: unknown. The same disk has another number after
// it was mounted again.
uint32_t MountOf(int file) {
  constexpr unsigned kUniqueId = 0x4000;  // STATX_MNT_ID_UNIQUE; older kernels use ids again
  struct statx info{};
  if (statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID | kUniqueId, &info) != 0) return 0;
  const uint64_t numbers[] = {info.stx_dev_major, info.stx_dev_minor, info.stx_mnt_id};
  return std::max(1U, Crc32c({reinterpret_cast<const char*>(numbers), sizeof numbers}));
}

Status NoAnswer(const std::string& folder) {
  return Status(StatusCode::kUnavailable, "the state database does not answer")
      .WithDetail(folder + "/" + SyncedMarks::kName + ": " + ErrnoText(errno));
}

}  // namespace

// The layout in the file.
struct SyncedMarks::Copy {
  struct Place {
    uint64_t number;
    uint64_t synced;
    uint64_t written;
  };

  char magic[8];
  uint64_t generation;
  char boot_id[40];
  Place logs[kLogsKept];
  Place manifests[kManifestsKept];
  uint32_t mount;     // see MountOf; also 0 in files of earlier versions
  uint32_t checksum;  // over all fields before it

  uint32_t ComputeChecksum() const {
    return Crc32c({reinterpret_cast<const char*>(this), offsetof(Copy, checksum)});
  }
  std::string_view BootId() const { return {boot_id, strnlen(boot_id, sizeof boot_id)}; }
  static MarkMap ToMap(std::span<const Place> places) {
    MarkMap map;
    for (const Place& place : places) {
      if (place.number != 0) map[place.number] = {place.synced, place.written};
    }
    return map;
  }
  static void ToPlaces(const MarkMap& map, std::span<Place> places) {
    size_t next = 0;
    for (const auto& [number, mark] : map) places[next++] = {number, mark.synced, mark.written};
  }
};

Result<std::unique_ptr<SyncedMarks>> SyncedMarks::Open(const std::string& folder) {
  FileDescriptor file(
      open((folder + "/" + kName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return NoAnswer(folder);
  return Lock(folder, std::move(file), F_WRLCK);
}

Result<std::unique_ptr<SyncedMarks>> SyncedMarks::OpenReadOnly(const std::string& folder) {
  FileDescriptor file(open((folder + "/" + kName).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file) return Lock(folder, std::move(file), F_RDLCK);
  // A database without marks can be read, and there is no file to lock.
  if (errno != ENOENT) return NoAnswer(folder);
  return std::unique_ptr<SyncedMarks>(new SyncedMarks(folder, FileDescriptor()));
}

Result<std::unique_ptr<SyncedMarks>> SyncedMarks::Lock(const std::string& folder,
                                                       FileDescriptor file, short lock_type) {
  // An open file description lock, so that two objects in one process exclude each other too.
  struct flock lock{};
  lock.l_type = lock_type;
  lock.l_whence = SEEK_SET;
  if (fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return NoAnswer(folder);
    return Status(StatusCode::kBusy, "the state database is still open in another process")
        .WithDetail(folder);
  }
  std::unique_ptr<SyncedMarks> marks(new SyncedMarks(folder, std::move(file)));
  marks->Read();
  return marks;
}

SyncedMarks::SyncedMarks(std::string folder, FileDescriptor file)
    : folder_(std::move(folder)),
      file_(std::move(file)),
      boot_id_(ReadBootId()),
      mount_(MountOf(file_.get())) {}

void SyncedMarks::Read() {
  static_assert(sizeof(Copy) <= kCopyBytes);
  MutexLock lock(mutex_);
  bool same_mount = false;
  for (off_t offset : {off_t{0}, kCopyBytes}) {
    Copy copy{};
    if (pread(file_.get(), &copy, sizeof copy, offset) != ssize_t{sizeof copy}) continue;
    if (!std::ranges::equal(copy.magic, kMagic)) continue;
    if (copy.checksum != copy.ComputeChecksum() || copy.generation < generation_) continue;
    generation_ = copy.generation;
    same_mount =
        !boot_id_.empty() && copy.BootId() == boot_id_ && (copy.mount == 0 || copy.mount == mount_);
    logs_ = Copy::ToMap(copy.logs);
    manifests_ = Copy::ToMap(copy.manifests);
  }
  const auto take = [&](MarkMap& marks, std::map<uint64_t, uint64_t>& found) {
    for (auto& [number, mark] : marks) {
      // A power cut may have lost bytes that were written but not synced. A snapshot of the disk
      // does not have them either.
      if (!same_mount) mark.written = mark.synced;
      found[number] = std::max(mark.synced, mark.written);
    }
  };
  take(logs_, found_.logs);
  take(manifests_, found_.manifests);
}

void SyncedMarks::Begin() {
  MutexLock lock(mutex_);
  // A mark must not outlive its file: numbers begin again in a folder that was emptied by hand.
  const auto is_gone = [this](const std::string& name) {
    return access((folder_ + "/" + name).c_str(), F_OK) != 0;
  };
  std::erase_if(logs_, [&](const auto& mark) { return is_gone(LogName(mark.first)); });
  std::erase_if(manifests_, [&](const auto& mark) { return is_gone(ManifestName(mark.first)); });
  // Replace both copies, so that the older one cannot become valid again.
  WriteLocked();
  WriteLocked();
}

void SyncedMarks::Written(const FileName& file, uint64_t bytes) {
  MutexLock lock(mutex_);
  SetLocked(file, bytes, /*synced=*/false);
}

void SyncedMarks::Synced(const FileName& file, uint64_t bytes) {
  MutexLock lock(mutex_);
  SetLocked(file, bytes, /*synced=*/true);
}

void SyncedMarks::SetLocked(const FileName& file, uint64_t bytes, bool synced) {
  if (file.kind != FileKind::kLog && file.kind != FileKind::kManifest) return;
  const bool is_log = file.kind == FileKind::kLog;
  MarkMap& marks = is_log ? logs_ : manifests_;
  Mark& mark = marks[file.number];
  if (synced) {  // others may have written more since
    mark.synced = std::max(mark.synced, bytes);
    mark.written = std::max(mark.written, bytes);
  } else {
    mark.written = bytes;
    mark.synced = std::min(mark.synced, bytes);
  }
  if (marks.size() > (is_log ? kLogsKept : kManifestsKept)) marks.erase(marks.begin());
  published_ = false;
}

void SyncedMarks::Publish() {
  MutexLock lock(mutex_);
  if (!std::exchange(published_, true)) WriteLocked();
}

void SyncedMarks::Flush() {
  {
    MutexLock lock(mutex_);
    if (!std::exchange(published_, true)) WriteLocked();
    if (std::exchange(flushed_, true)) return;
  }
  (void)fdatasync(file_.get());
}

// If this fails the marks only cover fewer bytes, which is safe.
void SyncedMarks::WriteLocked() {
  Copy copy{};
  std::ranges::copy(kMagic, copy.magic);
  copy.generation = ++generation_;
  boot_id_.copy(copy.boot_id, sizeof copy.boot_id);
  copy.mount = mount_;
  Copy::ToPlaces(logs_, copy.logs);
  Copy::ToPlaces(manifests_, copy.manifests);
  copy.checksum = copy.ComputeChecksum();
  flushed_ = false;
  const off_t offset = copy.generation % 2 == 0 ? 0 : kCopyBytes;
  [[maybe_unused]] const ssize_t written = pwrite(file_.get(), &copy, sizeof copy, offset);
}

}  // namespace agent_graph::state
