// LevelDB's file system environment, extended to survive a full disk.
//
// A write that finds no space is repeated after a part of the reserve has been released. When
// nothing is left for tables, a compaction waits for space: if it failed, LevelDB would refuse all
// writes from then on, deletions included. After a failed write a file accepts no more data,
// because bytes behind a gap would be misread.
#pragma once

#include <leveldb/env.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "state/leveldb/disk/folder_watch.h"
#include "state/leveldb/disk/read_gate.h"
#include "state/leveldb/disk/reserve_file.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {

// Thread-safe. Each object runs its compactions on a thread of its own, so that one that waits does
// not block another database.
class DiskEnv final : public leveldb::EnvWrapper {
 public:
  // `reserve` may be null: then nothing waits. Once the folder of `files` is gone, no file is
  // opened, created or removed, because the path could lead to another database. `marks` is updated
  // with each write. `gate` closes around the end of each compaction.
  DiskEnv(std::shared_ptr<ReserveFile> reserve, std::shared_ptr<FolderWatch> files,
          std::shared_ptr<SyncedMarks> marks, std::shared_ptr<ReadGate> gate);
  ~DiskEnv() override;

  // Between these two calls, writes of tables wait for space.
  void LetTablesWait();
  void StopWaiting();

  // Call after a write, on the same thread: records in the marks what the open logs contain.
  void NoteWritten();
  // Syncs what the logs contained at the last NoteWritten, while another thread may write more.
  // Thread-safe.
  leveldb::Status SyncLogs();

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
  class SyncedPart;
  class OpenLogs;
  class File;

  leveldb::Status OpenFile(const std::string& path, int flags, leveldb::WritableFile** file);
  void RunScheduled();
  void EndThread();

  leveldb::Status CheckFolder(const std::string& path) const;

  const std::shared_ptr<FolderWatch> files_;
  const std::shared_ptr<SyncedMarks> marks_;  // shared with files
  const std::shared_ptr<Space> space_;        // shared with files
  const std::shared_ptr<OpenLogs> logs_;      // shared with files
  const std::shared_ptr<ReadGate> gate_;      // shared with files
  Mutex mutex_;
  CondVar changed_;
  // LevelDB schedules one at most.
  std::deque<std::function<void()>> scheduled_ AG_GUARDED_BY(mutex_);
  bool ending_ AG_GUARDED_BY(mutex_) = false;
  std::thread thread_ AG_GUARDED_BY(mutex_);  // started by the first call of Schedule
};

}  // namespace agent_graph::state
