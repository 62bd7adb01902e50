#include "state/leveldb/database/synced_env.h"

#include <utility>

namespace agent_graph::state {
namespace {

leveldb::Status Lost() {
  return leveldb::Status::IOError("an earlier file could not be synced");
}

class SyncedFile final : public leveldb::WritableFile {
 public:
  SyncedFile(std::unique_ptr<leveldb::WritableFile> file, std::shared_ptr<std::atomic<bool>> lost)
      : file_(std::move(file)), lost_(std::move(lost)) {}
  // LevelDB closes its logs by destroying them.
  ~SyncedFile() override { SyncRest(); }

  leveldb::Status Append(const leveldb::Slice& data) override {
    unsynced_ = true;
    return file_->Append(data);
  }
  leveldb::Status Close() override {
    const leveldb::Status synced = SyncRest();
    const leveldb::Status closed = file_->Close();
    return synced.ok() ? closed : synced;
  }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override {
    if (*lost_) return Lost();
    const leveldb::Status synced = file_->Sync();
    if (synced.ok()) unsynced_ = false;
    return synced;
  }

 private:
  leveldb::Status SyncRest() {
    if (!std::exchange(unsynced_, false)) return leveldb::Status::OK();
    const leveldb::Status synced = file_->Sync();
    if (!synced.ok()) *lost_ = true;
    return synced;
  }

  const std::unique_ptr<leveldb::WritableFile> file_;
  const std::shared_ptr<std::atomic<bool>> lost_;
  bool unsynced_ = false;
};

}  // namespace

SyncedEnv::SyncedEnv(leveldb::Env* base)
    : EnvWrapper(base), lost_(std::make_shared<std::atomic<bool>>(false)) {}

leveldb::Status SyncedEnv::CheckNotLost() const {
  return *lost_ ? Lost() : leveldb::Status::OK();
}

leveldb::Status SyncedEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** file) {
  const leveldb::Status opened = target()->NewWritableFile(path, file);
  if (opened.ok()) *file = new SyncedFile(std::unique_ptr<leveldb::WritableFile>(*file), lost_);
  return opened;
}

leveldb::Status SyncedEnv::NewAppendableFile(const std::string& path,
                                             leveldb::WritableFile** file) {
  const leveldb::Status opened = target()->NewAppendableFile(path, file);
  if (opened.ok()) *file = new SyncedFile(std::unique_ptr<leveldb::WritableFile>(*file), lost_);
  return opened;
}

}  // namespace agent_graph::state
