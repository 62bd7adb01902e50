#include "media/local_storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/errno_text.h"
#include "base/process.h"
#include "media/file_lock.h"
#include "media/usage.h"
#include "runtime/runtime.h"

namespace agent_graph::media {
namespace {

constexpr char kTemporaryName[] = "tmp";
constexpr char kInstanceName[] = "instance";
constexpr char kLockName[] = "lock";
constexpr time_t kAbandonedSeconds = 1800;  // no upload takes that long
constexpr size_t kTextFileBytesMax = kExtractedTextBytesMax + 16;

Status NoSuchFile() {
  return Status(StatusCode::kNotFound, "file not found");
}

// After a restart other files would be found at the path, so files must not be stored meanwhile.
Status Lost(const std::string& directory) {
  return Status(StatusCode::kUnavailable, "the file storage failed")
      .WithDetail(directory +
                  ": was deleted, moved or replaced while it was in use; put it back, or restart "
                  "nginx to go on with what is there");
}

// True if the path still leads to this open folder.
bool IsStillAt(int parent, const char* path, int folder) {
  struct stat found{};
  struct stat opened{};
  return fstatat(parent, path, &found, 0) == 0 && fstat(folder, &opened) == 0 &&
         found.st_dev == opened.st_dev && found.st_ino == opened.st_ino;
}

Result<FileDescriptor> OpenFolder(int parent, const char* name, int flags = 0) {
  FileDescriptor folder(openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (!folder) return FileError("opening a folder");
  return folder;
}

// Opens the folder and creates it if it is missing; a new folder is durable.
Result<FileDescriptor> MakeFolder(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), 0700) == 0) {
    if (fsync(parent) != 0) return FileError("fsync");
  } else if (errno != EEXIST) {
    return FileError("making a folder");
  }
  return OpenFolder(parent, name.c_str(), O_NOFOLLOW);
}

Result<FileDescriptor> OpenFolderOf(int root, const std::string& file_id) {
  const std::string path = file_id.substr(0, 2) + "/" + file_id.substr(2, 2);
  FileDescriptor folder(openat(root, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) return folder;
  if (errno == ENOENT) return NoSuchFile();
  return FileError("opening a folder");
}

// A reply announces the size of the record before its bytes are read.
Status CheckSize(int file, const FileRecord& record) {
  struct stat info{};
  if (fstat(file, &info) != 0) return FileError("fstat");
  if (static_cast<uint64_t>(info.st_size) >= record.size_bytes) return Status::Ok();
  return Status(StatusCode::kDataLoss, "the file is damaged")
      .WithDetail(record.file_id + " has " + std::to_string(info.st_size) + " bytes, its record " +
                  "says " + std::to_string(record.size_bytes));
}

Result<std::string> ReadSmallFile(int folder, const std::string& name, size_t bytes_max) {
  FileDescriptor file(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    if (errno == ENOENT) return NoSuchFile();
    return FileError("opening a file");
  }
  std::string text;
  char piece[8 * 1024];
  for (;;) {
    ssize_t got = read(file.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read");
    if (got == 0) return text;
    text.append(piece, static_cast<size_t>(got));
    if (text.size() > bytes_max) {
      return Status(StatusCode::kDataLoss, "a file's record cannot be read back");
    }
  }
}

// Written under a temporary name first, so that readers never see a part of it.
Status WriteSmallFile(int temporary, int folder, const std::string& name, std::string_view text) {
  AG_ASSIGN_OR_RETURN(Spool file, Spool::Create(temporary));
  AG_RETURN_IF_ERROR(file.Write(text));
  return file.Keep(folder, name);
}

void RemoveAbandoned(int temporary) {
  int copy = openat(temporary, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  std::unique_ptr<DIR, int (*)(DIR*)> names(fdopendir(copy), closedir);
  if (names == nullptr) {
    close(copy);
    return;
  }
  const time_t now = time(nullptr);
  while (const dirent* entry = readdir(names.get())) {  // NOLINT: only this thread reads it
    struct stat info{};
    if (fstatat(temporary, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode) || now - info.st_mtime < kAbandonedSeconds) continue;
    unlinkat(temporary, entry->d_name, 0);
  }
}

Status CheckOurs(int folder) {
  struct stat info{};
  if (fstat(folder, &info) != 0) return FileError("fstat");
  const bool is_ours = info.st_uid == geteuid();
  if (is_ours && (info.st_mode & 077) == 0) return Status::Ok();
  return Status(StatusCode::kUnavailable, "the file storage failed")
      .WithDetail(is_ours ? "others may access its directory: its mode must be 0700"
                          : "its directory belongs to another user");
}

// Files in memory are removed when the nginx instance that received them has ended.
Status BeginInstance(int root, const std::string& directory, const std::string& instance) {
  AG_ASSIGN_OR_RETURN(FileDescriptor lock, LockFile(root, kLockName));
  Result<std::string> before = ReadSmallFile(root, kInstanceName, kRecordBytesMax);
  if (before.ok() && *before == instance) return Status::Ok();
  const bool runs = before.ok() && !before->empty() &&
                    InstanceOf(std::strtoll(before->c_str(), nullptr, 10)) == *before;
  if (!runs) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      if (entry.path().filename() == kLockName) continue;
      std::error_code ignored;
      std::filesystem::remove_all(entry.path(), ignored);
    }
  }
  AG_ASSIGN_OR_RETURN(FileDescriptor temporary, MakeFolder(root, kTemporaryName));
  return WriteSmallFile(temporary.get(), root, kInstanceName, instance);
}

}  // namespace

struct LocalStorage::Folders {
  FileDescriptor root;
  FileDescriptor temporary;
};

LocalStorage::LocalStorage(LocalStorageOptions options, runtime::Runtime& runtime)
    : options_(std::move(options)), runtime_(runtime) {}

LocalStorage::~LocalStorage() = default;

Result<std::shared_ptr<LocalStorage::Folders>> LocalStorage::Open() {
  MutexLock lock(mutex_);
  if (folders_ != nullptr) {
    const int root = folders_->root.get();
    if (!IsStillAt(AT_FDCWD, options_.directory.c_str(), root)) return Lost(options_.directory);
    if (IsStillAt(root, kTemporaryName, folders_->temporary.get())) return folders_;
  }
  std::error_code ignored;  // the next steps report the failures that matter
  std::filesystem::create_directories(std::filesystem::path(options_.directory).parent_path(),
                                      ignored);
  if (mkdir(options_.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return FileError(options_.directory.c_str());
  }
  auto folders = std::make_shared<Folders>();
  const int flags = options_.must_be_ours ? O_NOFOLLOW : 0;
  AG_ASSIGN_OR_RETURN(folders->root, OpenFolder(AT_FDCWD, options_.directory.c_str(), flags));
  if (options_.must_be_ours) AG_RETURN_IF_ERROR(CheckOurs(folders->root.get()));
  if (!options_.instance.empty()) {
    AG_RETURN_IF_ERROR(BeginInstance(folders->root.get(), options_.directory, options_.instance));
  }
  AG_ASSIGN_OR_RETURN(folders->temporary, MakeFolder(folders->root.get(), kTemporaryName));
  RemoveAbandoned(folders->temporary.get());
  // If a limit is set again later, it starts with a new count of the files.
  if (!options_.total_bytes_max) unlinkat(folders->root.get(), "usage", 0);
  folders_ = std::move(folders);
  return folders_;
}

Result<Spool> LocalStorage::Receive() {
  std::optional<Result<Spool>> spool;
  runtime_.RunOnIoPool([&] {
    Result<std::shared_ptr<Folders>> folders = Open();
    if (folders.ok()) {
      spool.emplace(Spool::Create((*folders)->temporary.get(), AdmitInto(*folders)));
    } else {
      spool.emplace(folders.status());
    }
  });
  return *std::move(spool);
}

Spool::Admit LocalStorage::AdmitInto(std::shared_ptr<Folders> folders) const {
  if (!options_.total_bytes_max) return nullptr;
  return [folders = std::move(folders), bytes_max = *options_.total_bytes_max](uint64_t bytes) {
    const int root = folders->root.get();
    const int temporary = folders->temporary.get();
    Status room = CheckRoom(root, temporary, bytes, bytes_max);
    if (room.code() != StatusCode::kResourceExhausted) return room;
    RemoveAbandoned(temporary);
    return CheckRoom(root, temporary, bytes, bytes_max);
  };
}

Status LocalStorage::Keep(Spool& spool, FileRecord& record,
                          const std::optional<std::string>& text) {
  Status kept;
  runtime_.RunOnIoPool([&] { kept = KeepBlocking(spool, record, text); });
  return kept;
}

Status LocalStorage::KeepBlocking(Spool& spool, FileRecord& record,
                                  const std::optional<std::string>& text) {
  AG_ASSIGN_OR_RETURN(std::shared_ptr<Folders> folders, Open());
  record.size_bytes = spool.size();
  record.sha256 = spool.Sha256();
  record.has_text = text.has_value();
  const int root = folders->root.get();
  const int temporary = folders->temporary.get();
  const std::string record_text = ToText(record);
  const uint64_t room =
      RoomOf(record.size_bytes) + RoomOf(record_text.size()) + (text ? RoomOf(text->size()) : 0);
  if (options_.total_bytes_max) {
    AG_RETURN_IF_ERROR(Reserve(root, room, *options_.total_bytes_max));
  }
  auto store = [&]() -> Status {
    AG_ASSIGN_OR_RETURN(FileDescriptor first, MakeFolder(root, record.file_id.substr(0, 2)));
    AG_ASSIGN_OR_RETURN(FileDescriptor folder,
                        MakeFolder(first.get(), record.file_id.substr(2, 2)));
    AG_RETURN_IF_ERROR(spool.Keep(folder.get(), record.file_id));
    Status rest;
    if (text) rest = WriteSmallFile(temporary, folder.get(), record.file_id + ".txt", *text);
    if (rest.ok()) {
      rest = WriteSmallFile(temporary, folder.get(), record.file_id + ".json", record_text);
    }
    if (rest.ok() && fsync(folder.get()) != 0) rest = FileError("fsync");
    if (!rest.ok()) {
      for (const char* suffix : {".json", ".txt", ""}) {
        unlinkat(folder.get(), (record.file_id + suffix).c_str(), 0);
      }
    }
    return rest;
  };
  Status stored = store();
  if (!stored.ok() && options_.total_bytes_max) Release(root, room);
  return stored;
}

Result<FileRecord> LocalStorage::FindBlocking(const std::string& file_id) {
  AG_ASSIGN_OR_RETURN(std::shared_ptr<Folders> folders, Open());
  AG_ASSIGN_OR_RETURN(FileDescriptor folder, OpenFolderOf(folders->root.get(), file_id));
  AG_ASSIGN_OR_RETURN(std::string text,
                      ReadSmallFile(folder.get(), file_id + ".json", kRecordBytesMax));
  return RecordFromText(text, file_id);
}

Result<FileRecord> LocalStorage::Find(const Reader& reader, const std::string& file_id) {
  if (!IsFileId(file_id)) return NoSuchFile();
  Result<FileRecord> record = NoSuchFile();
  runtime_.RunOnIoPool([&] { record = FindBlocking(file_id); });
  if (record.ok() && !MayRead(reader, *record)) return NoSuchFile();
  return record;
}

Result<Content> LocalStorage::Open(const FileRecord& record, uint64_t, uint64_t) {
  auto open_file = [&]() -> Result<Content> {
    AG_ASSIGN_OR_RETURN(std::shared_ptr<Folders> folders, Open());
    AG_ASSIGN_OR_RETURN(FileDescriptor folder, OpenFolderOf(folders->root.get(), record.file_id));
    Content content;
    content.file = FileDescriptor(
        openat(folder.get(), record.file_id.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!content.file) return errno == ENOENT ? NoSuchFile() : FileError("opening a file");
    AG_RETURN_IF_ERROR(CheckSize(content.file.get(), record));
    return content;
  };
  Result<Content> content = NoSuchFile();
  runtime_.RunOnIoPool([&] { content = open_file(); });
  return content;
}

Result<std::string> LocalStorage::ReadText(const FileRecord& record) {
  auto read_text = [&]() -> Result<std::string> {
    AG_ASSIGN_OR_RETURN(std::shared_ptr<Folders> folders, Open());
    AG_ASSIGN_OR_RETURN(FileDescriptor folder, OpenFolderOf(folders->root.get(), record.file_id));
    return ReadSmallFile(folder.get(), record.file_id + ".txt", kTextFileBytesMax);
  };
  Result<std::string> text = NoSuchFile();
  runtime_.RunOnIoPool([&] { text = read_text(); });
  return text;
}

Status CheckDirectory(const std::string& directory) {
  std::string path = directory;
  if (access(path.c_str(), F_OK) != 0) {
    path = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  }
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
    return InvalidArgument(path + " is a file: name a folder in media.storage_path");
  }
  if (access(path.c_str(), R_OK | W_OK | X_OK) == 0) return Status::Ok();
  return InvalidArgument(directory + " cannot be used: " + ErrnoText(errno) +
                         ": nginx's workers must be able to write in " + path);
}

void RemoveInstance(const std::string& directory, uid_t user, const std::string& instance) {
  Result<FileDescriptor> folder = OpenFolder(AT_FDCWD, directory.c_str(), O_NOFOLLOW);
  struct stat info{};
  if (!folder.ok() || fstat(folder->get(), &info) != 0 || info.st_uid != user) return;
  Result<std::string> owner = ReadSmallFile(folder->get(), kInstanceName, kRecordBytesMax);
  if (!owner.ok() || *owner != instance) return;
  std::error_code ignored;  // the next start removes what is left
  std::filesystem::remove_all(directory, ignored);
}

std::string MemoryDirectory(const std::string& state_directory, uid_t user) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (unsigned char c : state_directory) hash = (hash ^ c) * 0x100000001b3;
  std::ostringstream name;
  name << "/dev/shm/agent-graph-" << user << "-" << std::hex << hash;
  return name.str();
}

std::string InstanceOf(int64_t process) {
  uint64_t start = ProcessStartTime(process);
  return start == 0 ? "" : std::to_string(process) + " " + std::to_string(start);
}

}  // namespace agent_graph::media
