#include "state/leveldb/disk/read_only_env.h"

#include <leveldb/helpers/memenv.h>

#include <algorithm>

namespace agent_graph::state {
namespace {

leveldb::Status ReadOnly(const std::string& path) {
  return leveldb::Status::IOError(path, "opened for reading");
}

leveldb::Status Missing(const std::string& path) {
  return leveldb::Status::NotFound(path, "no such file");
}

}  // namespace

ReadOnlyEnv::ReadOnlyEnv()
    : leveldb::EnvWrapper(leveldb::Env::Default()),
      memory_(leveldb::NewMemEnv(leveldb::Env::Default())) {}

bool ReadOnlyEnv::IsHidden(const std::string& path) const {
  MutexLock lock(mutex_);
  return hidden_.contains(path);
}

leveldb::Status ReadOnlyEnv::CopyBegin(const std::string& path, uint64_t bytes) {
  std::string content;
  leveldb::Status status = leveldb::ReadFileToString(target(), path, &content);
  if (!status.ok()) return status;
  return leveldb::WriteStringToFile(
      memory_.get(), {content.data(), std::min(content.size(), size_t{bytes})}, path);
}

leveldb::Status ReadOnlyEnv::NewSequentialFile(const std::string& path,
                                               leveldb::SequentialFile** file) {
  if (memory_->FileExists(path)) return memory_->NewSequentialFile(path, file);
  if (IsHidden(path)) return Missing(path);
  return target()->NewSequentialFile(path, file);
}

leveldb::Status ReadOnlyEnv::NewRandomAccessFile(const std::string& path,
                                                 leveldb::RandomAccessFile** file) {
  if (memory_->FileExists(path)) return memory_->NewRandomAccessFile(path, file);
  if (IsHidden(path)) return Missing(path);
  return target()->NewRandomAccessFile(path, file);
}

leveldb::Status ReadOnlyEnv::NewWritableFile(const std::string& path,
                                             leveldb::WritableFile** file) {
  if (sealed_) return ReadOnly(path);
  return memory_->NewWritableFile(path, file);
}

leveldb::Status ReadOnlyEnv::NewAppendableFile(const std::string& path,
                                               leveldb::WritableFile** /*file*/) {
  return ReadOnly(path);
}

bool ReadOnlyEnv::FileExists(const std::string& path) {
  return memory_->FileExists(path) || (!IsHidden(path) && target()->FileExists(path));
}

leveldb::Status ReadOnlyEnv::GetChildren(const std::string& folder,
                                         std::vector<std::string>* names) {
  std::vector<std::string> stored;
  leveldb::Status status = target()->GetChildren(folder, &stored);
  if (status.ok()) status = memory_->GetChildren(folder, names);
  if (!status.ok()) return status;
  for (std::string& name : stored) {
    std::string path = folder;
    path.append("/").append(name);
    if (!IsHidden(path) && !memory_->FileExists(path)) names->push_back(std::move(name));
  }
  return status;
}

leveldb::Status ReadOnlyEnv::RemoveFile(const std::string& path) {
  if (memory_->FileExists(path)) (void)memory_->RemoveFile(path);
  MutexLock lock(mutex_);
  hidden_.insert(path);
  return leveldb::Status::OK();
}

leveldb::Status ReadOnlyEnv::CreateDir(const std::string& path) {
  return ReadOnly(path);
}

leveldb::Status ReadOnlyEnv::RemoveDir(const std::string& path) {
  return ReadOnly(path);
}

leveldb::Status ReadOnlyEnv::GetFileSize(const std::string& path, uint64_t* size) {
  if (memory_->FileExists(path)) return memory_->GetFileSize(path, size);
  if (IsHidden(path)) return Missing(path);
  return target()->GetFileSize(path, size);
}

leveldb::Status ReadOnlyEnv::RenameFile(const std::string& from, const std::string& to) {
  if (!memory_->FileExists(from)) return ReadOnly(from);
  return memory_->RenameFile(from, to);
}

leveldb::Status ReadOnlyEnv::LockFile(const std::string& path, leveldb::FileLock** lock) {
  return memory_->LockFile(path, lock);
}

leveldb::Status ReadOnlyEnv::UnlockFile(leveldb::FileLock* lock) {
  return memory_->UnlockFile(lock);
}

leveldb::Status ReadOnlyEnv::NewLogger(const std::string& path, leveldb::Logger** logger) {
  *logger = nullptr;
  return ReadOnly(path);
}

}  // namespace agent_graph::state
