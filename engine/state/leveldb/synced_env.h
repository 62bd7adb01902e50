// An environment for LevelDB in which no bytes are lost between two files.
//
// LevelDB starts a new log when its memtable is full and closes the old one as it is. A later write
// with `sync` brings only the new log to the disk: what earlier writes, already answered, had put
// into the old one could still be lost with the power, although writes that build on it were not.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <memory>
#include <string>

namespace agent_graph::state {

// Files are synced before they are closed. When that fails, each later Sync fails too: what it
// would acknowledge may build on what was lost.
class SyncedEnv final : public leveldb::EnvWrapper {
 public:
  // `base` is used, not owned.
  explicit SyncedEnv(leveldb::Env* base);

  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** file) override;

 private:
  // Shared with files, which LevelDB may close after us.
  std::shared_ptr<std::atomic<bool>> lost_;
};

}  // namespace agent_graph::state
