// Files in a directory, on disk or, for storage "memory", on a file system that lives in memory.
//
//   ab/cd/abcd…       the bytes; the folders are the first four digits of the id
//   ab/cd/abcd….txt   the text extracted from them, if any
//   ab/cd/abcd….json  the record
//   tmp/              files being received
//   usage             bytes of all files, when they are bounded
//   instance, lock    of storage "memory": the nginx whose files these are
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "media/storage.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::media {

struct LocalStorageOptions {
  std::string directory;  // absolute; created when missing, with mode 0700
  std::optional<uint64_t> total_bytes_max;
  // Nobody but the own user may be able to write to the directory's parent by name: somebody else's
  // directory is refused. For /dev/shm.
  bool must_be_ours = false;
  // Not empty: files of another instance that is not running any more are removed at the beginning.
  // "<process id> <start time>" of nginx's master process.
  std::string instance;
};

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

  // Opened at the first use, and again while that fails: a disk may be mounted late.
  Result<std::shared_ptr<Folders>> Open();
  // Null when what is kept has no bound.
  Spool::Admit AdmitInto(std::shared_ptr<Folders> folders) const;
  Status KeepBlocking(Spool& spool, FileRecord& record, const std::optional<std::string>& text);
  Result<FileRecord> FindBlocking(const std::string& file_id);

  const LocalStorageOptions options_;
  runtime::Runtime& runtime_;
  std::mutex mutex_;
  std::shared_ptr<Folders> folders_;  // guarded by mutex_; shared with calls at work
};

// What `nginx -t` can tell: the directory exists and may be written to, or it can be made.
Status CheckDirectory(const std::string& directory);

// The directory for storage "memory" of the service with this state directory.
std::string MemoryDirectory(const std::string& state_directory, uid_t user);
// Removes it when it belongs to `user` and its files are of this instance.
void RemoveInstance(const std::string& directory, uid_t user, const std::string& instance);
// The value of LocalStorageOptions::instance for a process; empty when it does not run.
std::string InstanceOf(int64_t process);

}  // namespace agent_graph::media
