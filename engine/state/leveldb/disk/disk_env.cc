#include "state/leveldb/disk/disk_env.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/durable.h"
#include "base/errno_text.h"
#include "base/file_descriptor.h"
#include "runtime/thread.h"

namespace agent_graph::state {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr mode_t kFileMode = 0644;  // the folder itself is private
constexpr std::chrono::milliseconds kWaitInterval{100};

leveldb::Status FailedCall(const std::string& path) {
  const std::string text = ErrnoText(errno);
  return errno == ENOENT ? leveldb::Status::NotFound(path, text)
                         : leveldb::Status::IOError(path, text);
}

bool IsTable(std::string_view path) {
  return path.ends_with(".ldb");
}

}  // namespace

// Gets more space for writes on a full disk.
class DiskEnv::Space {
 public:
  explicit Space(std::shared_ptr<ReserveFile> reserve) : reserve_(std::move(reserve)) {}

  // Calls `attempt`, which sets errno, until it succeeds or no more space can be found.
  template <typename Attempt>
  bool Try(const std::string& path, const Attempt& attempt) {
    const auto use = IsTable(path) ? ReserveFile::Use::kTable : ReserveFile::Use::kLog;
    for (;;) {
      if (attempt()) return true;
      const int error = errno;
      if (error == EINTR) continue;
      const bool no_space = (error == ENOSPC || error == EDQUOT) && reserve_ != nullptr;
      const bool again = no_space && (reserve_->GiveUp(Opening() ? ReserveFile::Use::kLog : use) ||
                                      (use == ReserveFile::Use::kTable && Wait()));
      errno = error;
      if (!again) return false;
    }
  }
  void LetWait() {
    MutexLock lock(mutex_);
    phase_ = Phase::kOpen;
  }
  void StopWaiting() {
    MutexLock lock(mutex_);
    phase_ = Phase::kClosing;
    closing_.NotifyAll();
  }

 private:
  enum class Phase : uint8_t { kOpening, kOpen, kClosing };

  bool Opening() {
    MutexLock lock(mutex_);
    return phase_ == Phase::kOpening;
  }
  // Waits for an interval. Returns false if the write must not wait.
  bool Wait() {
    MutexLock lock(mutex_);
    if (phase_ != Phase::kOpen) return false;
    const Deadline end = DeadlineAfter(kWaitInterval);
    while (phase_ != Phase::kClosing && closing_.WaitUntil(mutex_, end)) continue;
    return phase_ != Phase::kClosing;
  }

  const std::shared_ptr<ReserveFile> reserve_;
  Mutex mutex_;
  CondVar closing_;
  Phase phase_ AG_GUARDED_BY(mutex_) = Phase::kOpening;
};

class DiskEnv::File final : public leveldb::WritableFile {
 public:
  File(std::string path, FileDescriptor file, std::shared_ptr<Space> space,
       std::shared_ptr<SyncedMarks> marks)
      : path_(std::move(path)),
        name_(ParseFileName(path_)),
        file_(std::move(file)),
        space_(std::move(space)),
        marks_(std::move(marks)) {
    const off_t end = lseek(file_.get(), 0, SEEK_END);
    if (end > 0) bytes_ = static_cast<uint64_t>(end);
    marks_->Written(name_, bytes_);  // LevelDB may reuse a file number after its process was killed
  }
  ~File() override { WriteBuffer(); }

  leveldb::Status Append(const leveldb::Slice& data) override {
    const std::string_view bytes(data.data(), data.size());
    if (buffer_.size() + bytes.size() <= kBufferBytes) {
      buffer_.append(bytes);
      return failure_;
    }
    leveldb::Status written = WriteBuffer();
    if (!written.ok()) return written;
    if (bytes.size() >= kBufferBytes) return WriteAll(bytes);
    buffer_.append(bytes);
    return written;
  }
  leveldb::Status Flush() override {
    leveldb::Status written = WriteBuffer();
    if (written.ok()) marks_->Written(name_, bytes_);
    return written;
  }
  leveldb::Status Sync() override {
    leveldb::Status written = WriteBuffer();
    if (!written.ok()) return written;
    if (name_.kind == FileKind::kManifest) {
      // Sync the directory first, so that the files that the MANIFEST lists have durable names.
      const Status synced = SyncPath(path_.substr(0, path_.rfind('/')));
      if (!synced.ok()) return Fail(leveldb::Status::IOError(path_, synced.message()));
    }
    if (fdatasync(file_.get()) != 0) return Fail(FailedCall(path_));
    marks_->Synced(name_, bytes_);
    return written;
  }
  leveldb::Status Close() override {
    leveldb::Status written = WriteBuffer();
    file_.Reset();
    return written;
  }

 private:
  leveldb::Status WriteBuffer() {
    const leveldb::Status written = WriteAll(buffer_);
    buffer_.clear();
    return written;
  }

  leveldb::Status WriteAll(std::string_view bytes) {
    while (!bytes.empty() && failure_.ok()) {
      ssize_t count = 0;
      const bool wrote = space_->Try(path_, [&] {
        count = write(file_.get(), bytes.data(), bytes.size());
        return count >= 0;
      });
      if (!wrote) return Fail(FailedCall(path_));
      bytes.remove_prefix(static_cast<size_t>(count));
      bytes_ += static_cast<size_t>(count);
    }
    return failure_;
  }

  leveldb::Status Fail(leveldb::Status failure) {
    if (failure_.ok()) failure_ = std::move(failure);
    return failure_;
  }

  const std::string path_;
  const FileName name_;
  FileDescriptor file_;
  const std::shared_ptr<Space> space_;
  const std::shared_ptr<SyncedMarks> marks_;
  uint64_t bytes_ = 0;  // bytes written so far
  std::string buffer_;
  leveldb::Status failure_;
};

DiskEnv::DiskEnv(std::shared_ptr<ReserveFile> reserve, std::shared_ptr<FolderWatch> files,
                 std::shared_ptr<SyncedMarks> marks)
    : EnvWrapper(leveldb::Env::Default()),
      files_(std::move(files)),
      marks_(std::move(marks)),
      space_(std::make_shared<Space>(std::move(reserve))) {}

DiskEnv::~DiskEnv() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void DiskEnv::LetTablesWait() {
  space_->LetWait();
}

void DiskEnv::StopWaiting() {
  space_->StopWaiting();
}

void DiskEnv::Schedule(void (*function)(void*), void* argument) {
  MutexLock lock(mutex_);
  if (!thread_.joinable() &&
      !runtime::StartThread(thread_, "state-compact", [this] { RunScheduled(); }).ok()) {
    return target()->Schedule(function, argument);
  }
  scheduled_.emplace_back([function, argument] { function(argument); });
  changed_.NotifyAll();
}

void DiskEnv::RunScheduled() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!ending_ && scheduled_.empty()) changed_.Wait(mutex_);
    if (scheduled_.empty()) return;
    const std::function<void()> work = std::move(scheduled_.front());
    scheduled_.pop_front();
    lock.Unlock();
    work();
    lock.Lock();
  }
}

leveldb::Status DiskEnv::CheckFolder(const std::string& path) const {
  if (files_->HasFolder()) return leveldb::Status::OK();
  return leveldb::Status::IOError(path, "its folder was deleted, moved or replaced");
}

leveldb::Status DiskEnv::NewSequentialFile(const std::string& path,
                                           leveldb::SequentialFile** file) {
  leveldb::Status found = CheckFolder(path);
  return found.ok() ? target()->NewSequentialFile(path, file) : found;
}

leveldb::Status DiskEnv::NewRandomAccessFile(const std::string& path,
                                             leveldb::RandomAccessFile** file) {
  leveldb::Status found = CheckFolder(path);
  return found.ok() ? target()->NewRandomAccessFile(path, file) : found;
}

leveldb::Status DiskEnv::RemoveFile(const std::string& path) {
  leveldb::Status found = CheckFolder(path);
  return found.ok() ? target()->RemoveFile(path) : found;
}

leveldb::Status DiskEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** file) {
  return OpenFile(path, O_TRUNC, file);
}

leveldb::Status DiskEnv::NewAppendableFile(const std::string& path, leveldb::WritableFile** file) {
  return OpenFile(path, O_APPEND, file);
}

leveldb::Status DiskEnv::RenameFile(const std::string& from, const std::string& to) {
  leveldb::Status folder = CheckFolder(from);
  if (!folder.ok()) return folder;
  const bool renamed = space_->Try(to, [&] { return std::rename(from.c_str(), to.c_str()) == 0; });
  return renamed ? leveldb::Status::OK() : FailedCall(from);
}

leveldb::Status DiskEnv::OpenFile(const std::string& path, int flags,
                                  leveldb::WritableFile** file) {
  *file = nullptr;
  leveldb::Status folder = CheckFolder(path);
  if (!folder.ok()) return folder;
  FileDescriptor opened;
  const bool found = space_->Try(path, [&] {
    opened = FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, kFileMode));
    return static_cast<bool>(opened);
  });
  if (!found) return FailedCall(path);
  if (path.ends_with(".log")) files_->UseLog(path, opened.get());
  *file = new File(path, std::move(opened), space_, marks_);
  return leveldb::Status::OK();
}

}  // namespace agent_graph::state
