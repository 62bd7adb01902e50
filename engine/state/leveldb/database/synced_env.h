// A LevelDB environment that syncs each file before it is closed.
//
// LevelDB starts a new log when its memtable is full, and closes the old log without a sync. A
// later write with `sync` then syncs only the new log. Earlier acknowledged writes in the old log
// could be lost in a power cut although later writes that build on them survive.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <memory>
#include <string>

namespace agent_graph::state {

// Syncs files before they are closed. After a failed sync every later Sync fails too, because the
// data that it acknowledges may build on lost data.
class SyncedEnv final : public leveldb::EnvWrapper {
 public:
  // Does not own `base`.
  explicit SyncedEnv(leveldb::Env* base);

  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** file) override;

  // Thread-safe. A sync has failed that did not go through this object.
  void NoteLost() { *lost_ = true; }
  // Fails after a failed sync.
  leveldb::Status CheckNotLost() const;

 private:
  // Shared with the files, which LevelDB may close after this object is destroyed.
  std::shared_ptr<std::atomic<bool>> lost_;
};

}  // namespace agent_graph::state
