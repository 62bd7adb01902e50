// The file system as LevelDB uses it, for a disk that may become full.
//
// A write that finds no space is repeated after a part of the reserve was given up. When there is
// nothing left for tables, a compaction waits for space: were it to fail, LevelDB would take no
// writes any more, and so no deletions. A file whose write has failed takes no more: bytes behind a
// gap would be read as something else.
#pragma once

#include <leveldb/env.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "state/leveldb/disk/folder_watch.h"
#include "state/leveldb/disk/reserve_file.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {

// Compactions run on a thread of its own: one that waits must not keep another database waiting.
class DiskEnv final : public leveldb::EnvWrapper {
 public:
  // `reserve` may be null: nothing waits then. Nothing is opened, made or removed once the folder
  // of `files` is no longer there: what lies at its path would be another database.
  // `marks` learns what is written.
  DiskEnv(std::shared_ptr<ReserveFile> reserve, std::shared_ptr<FolderWatch> files,
          std::shared_ptr<SyncedMarks> marks);
  ~DiskEnv() override;

  // Tables wait for space between these two calls.
  void LetTablesWait();
  void StopWaiting();

  leveldb::Status NewSequentialFile(const std::string& path,
                                    leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& path,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  void Schedule(void (*function)(void*), void* argument) override;

 private:
  class Space;
  class File;

  leveldb::Status OpenFile(const std::string& path, int flags, leveldb::WritableFile** file);
  void RunScheduled();

  leveldb::Status CheckFolder(const std::string& path) const;

  const std::shared_ptr<FolderWatch> files_;
  const std::shared_ptr<SyncedMarks> marks_;  // shared with files
  const std::shared_ptr<Space> space_;        // shared with files
  Mutex mutex_;
  CondVar changed_;
  // LevelDB schedules one at most.
  std::deque<std::function<void()>> scheduled_ AG_GUARDED_BY(mutex_);
  bool ending_ AG_GUARDED_BY(mutex_) = false;
  std::thread thread_ AG_GUARDED_BY(mutex_);  // started by the first call of Schedule
};

}  // namespace agent_graph::state
