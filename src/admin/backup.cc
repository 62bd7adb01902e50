#include "admin/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/durable.h"
#include "base/ids.h"
#include "media/file_lock.h"

namespace agent_graph::admin {
namespace {

namespace fs = std::filesystem;

// Names of unfinished backups. A lock allows one backup at a time, but each database copy gets its
// own name: after a timeout the state server may still be writing an earlier one.
constexpr char kDatabaseDrafts[] = "unfinished-database";
constexpr char kDraft[] = ".unfinished";
constexpr char kLock[] = ".lock";
constexpr char kDatabase[] = "/db";
constexpr char kUploads[] = "/uploads";
constexpr std::chrono::seconds kLockTimeout{10};

Status Failed(const std::string& what, const std::error_code& error) {
  return Status(StatusCode::kUnavailable, what + ": " + error.message());
}

Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Failed(from + " cannot become " + to, error) : Status::Ok();
}

// False also if that cannot be found out.
bool IsAbsent(const fs::path& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type() == fs::file_type::not_found;
}

// Renames in this order; undoes all renames if one fails.
Status RenameAll(const std::vector<std::pair<std::string, std::string>>& renames) {
  for (size_t done = 0; done < renames.size(); ++done) {
    Status renamed = Rename(renames[done].first, renames[done].second);
    if (renamed.ok()) continue;
    std::string text = renamed.message();
    while (done-- > 0) {
      const Status undone = Rename(renames[done].second, renames[done].first);
      if (!undone.ok()) text += "; " + undone.message();
    }
    return Status(renamed.code(), text);
  }
  return Status::Ok();
}

// Exchanges two folders. kNotConfigured: the file system cannot do that.
Status Exchange(const std::string& one, const std::string& other) {
  if (renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
    return Status::Ok();
  }
  const int error = errno;
  Status failed = Failed(one + " cannot take the place of " + other,
                         std::error_code(error, std::generic_category()));
  if (error != EINVAL && error != ENOSYS) return failed;
  return Status(StatusCode::kNotConfigured, failed.message());
}

// Moves `from` to `to`, and what is at `to`, if anything, to `kept`. There is always something at
// `to`: a program that was killed would otherwise leave no database there, and nginx would begin
// with an empty one. Changes nothing if it fails.
Status Replace(const std::string& from, const std::string& to, const std::string& kept) {
  if (IsAbsent(to)) return Rename(from, to);
  AG_RETURN_IF_ERROR(Rename(from, kept));
  const Status exchanged = Exchange(kept, to);
  if (exchanged.ok()) return exchanged;
  AG_RETURN_IF_ERROR(Rename(kept, from));
  if (exchanged.code() != StatusCode::kNotConfigured) return exchanged;
  return RenameAll({{to, kept}, {from, to}});
}

Status MakePrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return Status::Ok();
  return Failed(path, std::error_code(errno, std::generic_category()));
}

Result<FileDescriptor> LockBackups(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed(folder, std::error_code(errno, std::generic_category()));
  }
  const FileDescriptor open_folder(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open_folder) return Failed(folder, std::error_code(errno, std::generic_category()));
  Result<FileDescriptor> lock =
      media::LockFile(open_folder.get(), kLock, DeadlineAfter(kLockTimeout));
  if (lock.status().code() != StatusCode::kBusy) return lock;
  return Status(StatusCode::kBusy, "another backup is being made");
}

// Removes files of backups that failed or were killed, at construction and destruction. The lock
// must be held.
class Leftovers {
 public:
  explicit Leftovers(std::string folder) : folder_(std::move(folder)) { Remove(); }
  ~Leftovers() { Remove(); }
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

 private:
  void Remove() const {
    std::error_code ignored;
    std::vector<fs::path> unfinished = {fs::path(folder_) / kDraft};
    for (fs::directory_iterator entry(folder_, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      const bool is_draft = entry->path().filename().string().starts_with(kDatabaseDrafts);
      // A folder with "db" is a complete backup, which an earlier version may have made under such
      // a name.
      if (is_draft && IsAbsent(entry->path() / "db")) unfinished.push_back(entry->path());
    }
    for (const fs::path& path : unfinished) fs::remove_all(path, ignored);
  }

  const std::string folder_;
};

Result<state::BackupReport> CopyDatabase(StateAccess& state, const std::string& name) {
  const state::StateDirectory& directory = state.directory();
  if (!state.stopped()) {
    return state.Ask([&](state::Backend& client) { return client.Backup(name); });
  }
  return state.closed()->Backup(directory.backup_path() + "/" + name);
}

// Copies the regular files of a flat folder, such as a LevelDB database.
Status CopyDatabaseFiles(const std::string& from, const std::string& to) {
  AG_RETURN_IF_ERROR(MakePrivateFolder(to));
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!fs::is_regular_file(entry->symlink_status(error))) continue;
    const fs::path copy = fs::path(to) / entry->path().filename();
    fs::copy_file(entry->path(), copy, error);
    if (error) break;
    AG_RETURN_IF_ERROR(SyncPath(copy));
  }
  return error ? Failed(from, error) : Status::Ok();
}

// Copies of a restore that are not in their place yet: removed at the beginning, because a killed
// restore leaves them, and at the end, because a failed one may have filled the disk with them.
class RestoreDrafts {
 public:
  RestoreDrafts(const std::string& database_path, const std::string& uploads_path)
      : database(database_path + ".restored"), uploads(uploads_path + ".restored") {
    Remove();
  }
  ~RestoreDrafts() {
    if (!kept_) Remove();
  }
  RestoreDrafts(const RestoreDrafts&) = delete;
  RestoreDrafts& operator=(const RestoreDrafts&) = delete;

  // It is not known what is under these names.
  void Keep() { kept_ = true; }

  const std::string database;
  const std::string uploads;

 private:
  void Remove() const {
    std::error_code ignored;
    fs::remove_all(database, ignored);
    fs::remove_all(uploads, ignored);
  }

  bool kept_ = false;
};

// Exchanges the drafts for the database and the uploads. Changes nothing if it fails.
Status TakePlaces(RestoreDrafts& drafts, const std::string& database, const std::string& uploads,
                  const Replaced& replaced) {
  // The uploads first: this fails if they are a mount point, and then nothing has changed.
  AG_RETURN_IF_ERROR(Replace(drafts.uploads, uploads, replaced.uploads));
  if (Status failed = Replace(drafts.database, database, replaced.database); !failed.ok()) {
    const Status undone = IsAbsent(replaced.uploads)
                              ? Rename(uploads, drafts.uploads)
                              : Replace(replaced.uploads, uploads, drafts.uploads);
    if (undone.ok()) return failed;
    drafts.Keep();  // the previous uploads may be there
    return Status(failed.code(), failed.message() + "; " + undone.message());
  }
  for (const std::string& moved : {uploads, database}) {
    AG_RETURN_IF_ERROR(SyncPath(fs::absolute(moved).parent_path()));
  }
  return Status::Ok();
}

}  // namespace

Result<BackupContents> MakeBackup(StateAccess& state, const std::string& name,
                                  const std::string& uploads) {
  if (!state::IsBackupName(name) || name.starts_with(kDatabaseDrafts)) {
    return Status(StatusCode::kInvalidArgument,
                  "NAME has letters, digits, '-', '_' and '.', at most 64");
  }
  const std::string folder = state.directory().backup_path();
  AG_ASSIGN_OR_RETURN(const FileDescriptor lock, LockBackups(folder));
  BackupContents contents;
  contents.place = folder + "/" + name;
  std::error_code error;
  if (fs::exists(fs::symlink_status(contents.place, error))) {
    return Status(StatusCode::kConflict, "a backup of this name exists");
  }
  const Leftovers leftovers(folder);
  const std::string draft = folder + "/" + kDraft;
  // Copy the database first: files are stored before rows refer to them and are never removed, so
  // the uploads copied later include every file that the database refers to.
  const std::string database_draft = std::string(kDatabaseDrafts) + "-" + NewHexId();
  AG_ASSIGN_OR_RETURN(contents.database, CopyDatabase(state, database_draft));
  AG_RETURN_IF_ERROR(MakePrivateFolder(draft));
  AG_RETURN_IF_ERROR(Rename(folder + "/" + database_draft, draft + kDatabase));
  AG_ASSIGN_OR_RETURN(contents.files,
                      media::CopyFiles(uploads, draft + kUploads, media::Room::kLeave));
  AG_RETURN_IF_ERROR(SyncPath(draft));
  AG_RETURN_IF_ERROR(Rename(draft, contents.place));
  AG_RETURN_IF_ERROR(SyncPath(folder));
  return contents;
}

Result<Replaced> RestoreBackup(StateAccess& state, const std::string& backup_or_name,
                               const std::string& uploads) {
  if (!state.stopped()) {
    return Status(StatusCode::kBusy, "the state is in use: stop nginx first");
  }
  std::error_code error;
  const std::string own = state.directory().backup_path() + "/" + backup_or_name;
  const bool is_name = backup_or_name.find('/') == std::string::npos && fs::exists(own, error);
  const std::string& backup = is_name ? own : backup_or_name;
  // A state directory also has a database, but it may be in use.
  if (!fs::exists(backup + kDatabase + "/CURRENT", error) ||
      fs::exists(backup + "/owner.lock", error)) {
    return Status(StatusCode::kNotFound, backup + ": is no backup");
  }
  const std::string database = state.directory().database_path();
  RestoreDrafts drafts(database, uploads);
  AG_RETURN_IF_ERROR(CopyDatabaseFiles(backup + kDatabase, drafts.database));
  AG_RETURN_IF_ERROR(state::MakeClosedState(drafts.database)->CheckReadable());
  AG_RETURN_IF_ERROR(SyncPath(drafts.database));
  Replaced replaced;
  AG_ASSIGN_OR_RETURN(replaced.files,
                      media::CopyFiles(backup + kUploads, drafts.uploads, media::Room::kTake));
  const std::string time = std::to_string(UnixMicros());
  replaced.database = database + "." + time;
  replaced.uploads = uploads + "." + time;
  AG_RETURN_IF_ERROR(TakePlaces(drafts, database, uploads, replaced));
  // Delete the index of the previous database.
  fs::remove_all(state.directory().index_path(), error);
  // A new machine had none of them.
  if (IsAbsent(replaced.database)) replaced.database.clear();
  if (IsAbsent(replaced.uploads)) replaced.uploads.clear();
  return replaced;
}

}  // namespace agent_graph::admin
