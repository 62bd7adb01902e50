#include "media/file_copies.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/disk_room.h"
#include "base/file_descriptor.h"
#include "media/record.h"
#include "media/spool.h"

namespace agent_graph::media {
namespace {

constexpr std::string_view kRecordSuffix = ".json";
constexpr size_t kPieceBytes = 256 * 1024;
constexpr uint64_t kRoomCheckBytes = 4 * 1024 * 1024;  // a multiple of kPieceBytes

Result<FileDescriptor> OpenFolder(int parent, const std::string& name) {
  FileDescriptor folder(
      openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return FileError(name.c_str());
  return folder;
}

Result<FileDescriptor> MakeCopyFolder(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) return FileError(name.c_str());
  return OpenFolder(parent, name);
}

std::string PathOf(int open_file) {
  return "/proc/self/fd/" + std::to_string(open_file);
}

Result<std::vector<std::string>> NamesIn(int folder) {
  std::vector<std::string> names;
  std::error_code error;
  const std::string path = PathOf(folder) + "/";
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (!error) return names;
  return Status(StatusCode::kUnavailable, "the file storage failed").WithDetail(error.message());
}

bool IsHexPair(std::string_view name) {
  return name.size() == 2 && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<std::vector<std::string>> HexFoldersIn(int folder) {
  AG_ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(folder));
  std::erase_if(names, [](const std::string& name) { return !IsHexPair(name); });
  return names;
}

struct Source {
  FileDescriptor file;
  uint64_t bytes = 0;
};

Result<Source> OpenSource(int folder, const std::string& name) {
  Source source;
  source.file =
      FileDescriptor(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!source.file || fstat(source.file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Status(StatusCode::kDataLoss, name + ": a stored file is missing, or is no file");
  }
  source.bytes = static_cast<uint64_t>(info.st_size);
  return source;
}

Status CopyBytes(const Source& source, int folder, const std::string& name, Room room) {
  const FileDescriptor copy(
      openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!copy) return FileError(name.c_str());
  for (uint64_t done = 0; done < source.bytes;) {
    if (room == Room::kLeave && done % kRoomCheckBytes == 0) {
      AG_RETURN_IF_ERROR(CheckDiskRoom(PathOf(folder), kRoomCheckBytes));
    }
    const size_t size = static_cast<size_t>(std::min<uint64_t>(source.bytes - done, kPieceBytes));
    AG_ASSIGN_OR_RETURN(const std::string piece, ReadExactly(source.file.get(), done, size));
    AG_RETURN_IF_ERROR(WriteAll(copy.get(), piece));
    done += piece.size();
  }
  return fsync(copy.get()) == 0 ? Status::Ok() : FileError("fsync");
}

Status CopyOne(const Source& source, int folder, const std::string& name, Room room) {
  // Links the open file, even if its name refers to another file by now.
  const std::string open_file = PathOf(source.file.get());
  if (linkat(AT_FDCWD, open_file.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return Status::Ok();
  }
  return CopyBytes(source, folder, name, room);
}

class Copier {
 public:
  Copier(int from, int to, Room room) : from_(from), to_(to), room_(room) {}

  Result<CopiedFiles> Run() {
    AG_ASSIGN_OR_RETURN(const std::vector<std::string> firsts, HexFoldersIn(from_));
    for (const std::string& first : firsts) {
      AG_ASSIGN_OR_RETURN(const FileDescriptor outer, OpenFolder(from_, first));
      AG_ASSIGN_OR_RETURN(const std::vector<std::string> seconds, HexFoldersIn(outer.get()));
      for (const std::string& second : seconds) {
        AG_ASSIGN_OR_RETURN(const FileDescriptor inner, OpenFolder(outer.get(), second));
        AG_RETURN_IF_ERROR(CopyFolder(inner.get(), first, second));
      }
    }
    if (syncfs(to_) != 0) return FileError("syncfs");
    return copied_;
  }

 private:
  Status CopyFolder(int folder, const std::string& first, const std::string& second) {
    AG_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
    FileDescriptor target;
    for (const std::string& name : names) {
      // A file without a record does not exist.
      if (!name.ends_with(kRecordSuffix)) continue;
      const std::string id = name.substr(0, name.size() - kRecordSuffix.size());
      if (!IsFileId(id) || !id.starts_with(first + second)) continue;
      if (!target) {
        AG_ASSIGN_OR_RETURN(const FileDescriptor outer, MakeCopyFolder(to_, first));
        AG_ASSIGN_OR_RETURN(target, MakeCopyFolder(outer.get(), second));
      }
      AG_RETURN_IF_ERROR(CopyFile(folder, target.get(), id));
    }
    return Status::Ok();
  }

  Status CopyFile(int folder, int target, const std::string& id) {
    const std::string record_name = id + std::string(kRecordSuffix);
    AG_ASSIGN_OR_RETURN(const Source record_file, OpenSource(folder, record_name));
    const size_t record_bytes =
        static_cast<size_t>(std::min<uint64_t>(record_file.bytes, kRecordBytesMax));
    AG_ASSIGN_OR_RETURN(const std::string text,
                        ReadExactly(record_file.file.get(), 0, record_bytes));
    AG_ASSIGN_OR_RETURN(const FileRecord record, RecordFromText(text, id));
    AG_ASSIGN_OR_RETURN(const Source bytes, OpenSource(folder, id));
    if (bytes.bytes != record.size_bytes) {
      return Status(StatusCode::kDataLoss,
                    id + ": a stored file is not as long as its record says");
    }
    AG_RETURN_IF_ERROR(CopyOne(bytes, target, id, room_));
    if (record.has_text) {
      AG_ASSIGN_OR_RETURN(const Source extracted, OpenSource(folder, id + ".txt"));
      AG_RETURN_IF_ERROR(CopyOne(extracted, target, id + ".txt", room_));
    }
    AG_RETURN_IF_ERROR(CopyOne(record_file, target, record_name, room_));
    ++copied_.files;
    copied_.bytes += bytes.bytes;
    return Status::Ok();
  }

  const int from_;
  const int to_;
  const Room room_;
  CopiedFiles copied_;
};

}  // namespace

Result<CopiedFiles> CopyFiles(const std::string& from, const std::string& to, Room room) {
  if (mkdir(to.c_str(), 0700) != 0) {
    if (errno == EEXIST) return Status(StatusCode::kConflict, to + " exists");
    return FileError(to.c_str());
  }
  const FileDescriptor source(open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source && errno == ENOENT) return CopiedFiles();
  if (!source) return FileError(from.c_str());
  AG_ASSIGN_OR_RETURN(const FileDescriptor target, OpenFolder(AT_FDCWD, to));
  return Copier(source.get(), target.get(), room).Run();
}

}  // namespace agent_graph::media
