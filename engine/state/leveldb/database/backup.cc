// Backups of a database that is in use.
#include <leveldb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/disk_room.h"
#include "base/durable.h"
#include "state/leveldb/database/database.h"
#include "state/rules/stopping.h"

namespace agent_graph::state {
namespace {

constexpr size_t kBatchBytes = 4 * 1024 * 1024;
// The disk space that a batch needs at most: its copy in LevelDB's log, and the tables of the two
// batches before it, which LevelDB writes in the background.
constexpr uint64_t kRoomOfBatch = 3 * kBatchBytes;

// A draft folder, removed unless the backup is complete: an unfinished one could fill the disk.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) { Remove(); }
  ~Draft() {
    if (!kept_) Remove();
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& path() const { return path_; }
  Status KeepAs(const std::string& directory) {
    AG_RETURN_IF_ERROR(SyncPath(path_));
    std::error_code error;
    std::filesystem::rename(path_, directory, error);
    if (error) return Status(StatusCode::kUnavailable, "the backup cannot be moved into its place");
    kept_ = true;
    return SyncPath(std::filesystem::path(directory).parent_path());
  }

 private:
  void Remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string path_;
  bool kept_ = false;
};

}  // namespace

Result<BackupReport> LevelDatabase::BackUp(const std::string& directory,
                                           const std::atomic<bool>* stopping) const {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(directory, error) || error) {
    return Status(StatusCode::kConflict, "a backup of this name exists");
  }
  Draft draft(directory + ".draft");
  fs::create_directories(fs::path(directory).parent_path(), error);
  fs::permissions(fs::path(directory).parent_path(), fs::perms::owner_all, error);
  // Before the first batch, too, which is the only one of a small database.
  AG_RETURN_IF_ERROR(CheckDiskRoom(fs::path(directory).parent_path(), kRoomOfBatch));
  BackupReport report;
  {
    AG_ASSIGN_OR_RETURN(const std::unique_ptr<LevelDatabase> copy,
                        OpenDirectory(draft.path(), {.is_copy = true}));
    leveldb::WriteBatch batch;
    Status written;
    const DatabaseSnapshot snapshot(*this);
    AG_RETURN_IF_ERROR(snapshot.Scan({}, {}, [&](std::string_view key, std::string_view value) {
      batch.Put({key.data(), key.size()}, {value.data(), value.size()});
      ++report.rows;
      report.bytes += key.size() + value.size();
      written = CheckStopping(stopping);
      if (!written.ok()) return false;
      if (batch.ApproximateSize() < kBatchBytes) return true;
      // Stop before the disk is full, so that other writers on the same disk are not affected.
      written = CheckDiskRoom(draft.path(), kRoomOfBatch);
      if (written.ok()) written = copy->Write(batch, false);
      batch.Clear();
      return written.ok();
    }));
    AG_RETURN_IF_ERROR(written);
    AG_RETURN_IF_ERROR(copy->Write(batch, true));
  }
  AG_RETURN_IF_ERROR(draft.KeepAs(directory));
  return report;
}

}  // namespace agent_graph::state
