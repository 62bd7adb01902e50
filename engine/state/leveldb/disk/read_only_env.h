// LevelDB's file system environment for a database whose files must not be changed.
//
// LevelDB has no mode for reading only: when it opens a database, it moves the rows of the logs
// into a table, writes a new MANIFEST and removes old files. Here the new files are kept in memory,
// and removed files are only hidden.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace agent_graph::state {

// Thread-safe. Two databases must not share it.
class ReadOnlyEnv final : public leveldb::EnvWrapper {
 public:
  ReadOnlyEnv();

  // From now on the file has only its first `bytes` bytes: a copy in memory.
  leveldb::Status CopyBegin(const std::string& path, uint64_t bytes);
  // Call when the database is open. Afterwards no file can be created, so that compactions fail
  // instead of filling the memory. LevelDB goes on reading without them.
  void Seal() { sealed_ = true; }

  leveldb::Status NewSequentialFile(const std::string& path,
                                    leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& path,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** file) override;
  bool FileExists(const std::string& path) override;
  leveldb::Status GetChildren(const std::string& folder, std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status CreateDir(const std::string& path) override;
  leveldb::Status RemoveDir(const std::string& path) override;
  leveldb::Status GetFileSize(const std::string& path, uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  // These locks are in memory, too. SyncedMarks keeps other processes away.
  leveldb::Status LockFile(const std::string& path, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  // There is no log of LevelDB's own messages.
  leveldb::Status NewLogger(const std::string& path, leveldb::Logger** logger) override;

 private:
  bool IsHidden(const std::string& path) const;

  const std::unique_ptr<leveldb::Env> memory_;
  std::atomic<bool> sealed_{false};
  mutable Mutex mutex_;
  std::set<std::string> hidden_ AG_GUARDED_BY(mutex_);  // files on the disk
};

}  // namespace agent_graph::state
