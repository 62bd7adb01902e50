#include "prove/simulation/disk.h"

#include <leveldb/env.h>
#include <leveldb/helpers/memenv.h>

#include <map>
#include <string>
#include <utility>

namespace agent_graph::simulation {
namespace {

Disk* current = nullptr;

using Sizes = std::map<std::string, uint64_t>;  // synced bytes by file

class SyncedFile : public leveldb::WritableFile {
 public:
  SyncedFile(leveldb::WritableFile* file, std::string name, Sizes& synced)
      : file_(file), name_(std::move(name)), synced_(synced) {
    synced_[name_] = 0;
  }
  leveldb::Status Append(const leveldb::Slice& data) override {
    written_ += data.size();
    return file_->Append(data);
  }
  leveldb::Status Close() override { return file_->Close(); }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override {
    synced_[name_] = written_;
    return file_->Sync();
  }

 private:
  const std::unique_ptr<leveldb::WritableFile> file_;
  const std::string name_;
  Sizes& synced_;
  uint64_t written_ = 0;
};

// The environment of one database, which deletes it when it closes. The files stay.
class View : public leveldb::EnvWrapper {
 public:
  explicit View(leveldb::Env* files) : EnvWrapper(files) {}
};

}  // namespace

leveldb::Env* RealMemEnv(leveldb::Env* base) __asm__("__real__ZN7leveldb9NewMemEnvEPNS_3EnvE");

class Disk::Files : public leveldb::EnvWrapper {
 public:
  Files() : Files(RealMemEnv(leveldb::Env::Default())) {}

  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override {
    leveldb::Status status = target()->NewWritableFile(name, file);
    if (status.ok()) *file = new SyncedFile(*file, name, synced_);
    return status;
  }
  // The directory itself is not part of the model: a rename is durable at once.
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override {
    if (const auto found = synced_.find(from); found != synced_.end()) {
      synced_[to] = found->second;
      synced_.erase(from);
    }
    return target()->RenameFile(from, to);
  }
  leveldb::Status RemoveFile(const std::string& name) override {
    synced_.erase(name);
    return target()->RemoveFile(name);
  }

  void CutPower() {
    for (const auto& [name, bytes] : Sizes(synced_)) {
      std::string content;
      if (!leveldb::ReadFileToString(target(), name, &content).ok()) continue;
      if (content.size() <= bytes) continue;
      content.resize(bytes);
      (void)leveldb::WriteStringToFile(target(), content, name);
    }
  }

 private:
  explicit Files(leveldb::Env* memory) : EnvWrapper(memory), memory_(memory) {}

  const std::unique_ptr<leveldb::Env> memory_;
  Sizes synced_;
};

Disk::Disk() : files_(std::make_unique<Files>()) {
  current = this;
}
Disk::~Disk() {
  current = nullptr;
}
void Disk::CutPower() {
  files_->CutPower();
}

// Replaces leveldb::NewMemEnv (by the linker).
leveldb::Env* OpenDisk(leveldb::Env* base) __asm__("__wrap__ZN7leveldb9NewMemEnvEPNS_3EnvE");
leveldb::Env* OpenDisk(leveldb::Env*) {
  return new View(current->files_.get());
}

}  // namespace agent_graph::simulation
