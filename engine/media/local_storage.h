// LocalStorage: files in a directory, on disk or (storage "memory") on a file system in memory.
//
//   ab/cd/abcd…       the bytes; the folders are the first four digits of the id
//   ab/cd/abcd….txt   the text extracted from them, if any
//   ab/cd/abcd….json  the record
//   tmp/              uploads in progress
//   usage             total bytes of all files, if they are limited
//   instance, lock    for storage "memory": the nginx instance that the files belong to
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "media/storage.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::media {

struct LocalStorageOptions {
  std::string directory;  // absolute; created with mode 0700 if it is missing
  std::optional<uint64_t> total_bytes_max;
  // True: refuse a symbolic link and a directory that others own or may access. For /dev/shm, where
  // every user may create entries.
  bool must_be_ours = false;
  // If not empty: removes the files of another instance that is no longer running. The value is
  // "<process id> <start time>" of nginx's master process.
  std::string instance;
};

// Thread-safe; calls run on the io pool and suspend the calling fiber. Several processes may use
// the same directory.
class LocalStorage : public Storage {
 public:
  LocalStorage(LocalStorageOptions options, runtime::Runtime& runtime);
  ~LocalStorage() override;

  Result<Spool> Receive() override;
  Status Keep(Spool& spool, FileRecord& record, const std::optional<std::string>& text) override;
  Result<FileRecord> Find(const Reader& reader, const std::string& file_id) override;
  Result<Content> Open(const FileRecord& record, uint64_t first, uint64_t length) override;
  Result<std::string> ReadText(const FileRecord& record) override;
  std::optional<DirectUrl> UrlOf(const FileRecord&) override { return std::nullopt; }

 private:
  struct Folders;

  // Opens the folders on first use. After a failure it tries again, because a disk may be mounted
  // late. Fails if the directory was deleted, moved or replaced since.
  Result<std::shared_ptr<Folders>> Open();
  // Null if there is no limit.
  Spool::Admit AdmitInto(std::shared_ptr<Folders> folders) const;
  Status KeepBlocking(Spool& spool, FileRecord& record, const std::optional<std::string>& text);
  Result<FileRecord> FindBlocking(const std::string& file_id);

  const LocalStorageOptions options_;
  runtime::Runtime& runtime_;
  Mutex mutex_;
  std::shared_ptr<Folders> folders_ AG_GUARDED_BY(mutex_);  // shared with calls at work
};

// The check that `nginx -t` can do: the directory exists and is writable, or it can be created.
Status CheckDirectory(const std::string& directory);

// The directory of storage "memory" for the service with this state directory.
std::string MemoryDirectory(const std::string& state_directory, uid_t user);
// Removes the directory if it belongs to `user` and its files belong to this instance.
void RemoveInstance(const std::string& directory, uid_t user, const std::string& instance);
// The value of LocalStorageOptions::instance for a process; empty if the process is not running.
std::string InstanceOf(int64_t process);

}  // namespace agent_graph::media
