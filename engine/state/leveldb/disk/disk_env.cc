#include "state/leveldb/disk/disk_env.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/durable.h"
#include "base/errno_text.h"
#include "base/file_descriptor.h"
#include "runtime/thread.h"
#include "state/leveldb/disk/prepared_space.h"

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

// The open file of a File, which several threads may sync.
class DiskEnv::SyncedPart {
 public:
  SyncedPart(const std::string& path, FileDescriptor file, std::shared_ptr<SyncedMarks> marks)
      : path_(path), name_(ParseFileName(path)), file_(std::move(file)), marks_(std::move(marks)) {}

  int descriptor() const { return file_.get(); }
  const FileName& name() const { return name_; }
  uint64_t written() const { return written_; }
  void AddWritten(uint64_t bytes) { written_ += bytes; }
  // Call when the bytes written so far end with a whole record: marks may lie only at such places.
  void NoteRecordsEnd() {
    whole_ = written_;
    marks_->Written(name_, whole_);
  }
  // Syncs all bytes that were written. They must end with a whole record.
  leveldb::Status SyncAll() { return Sync(written_); }
  // Syncs the bytes before the last noted end, while another thread may be writing a record.
  // Thread-safe.
  leveldb::Status SyncWhole() { return Sync(whole_); }

 private:
  // The kernel reports an error of a file only once, so after a failure every later call fails,
  // too.
  leveldb::Status Sync(uint64_t bytes) {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (fdatasync(file_.get()) != 0) return failure_ = FailedCall(path_);
    marks_->Synced(name_, bytes);
    return failure_;
  }

  const std::string path_;
  const FileName name_;
  const FileDescriptor file_;
  const std::shared_ptr<SyncedMarks> marks_;
  uint64_t written_ = 0;  // used only by the thread that writes
  std::atomic<uint64_t> whole_{0};
  Mutex mutex_;
  leveldb::Status failure_ AG_GUARDED_BY(mutex_);
};

// The logs that LevelDB has open: one, or two while it changes to another.
class DiskEnv::OpenLogs {
 public:
  void Add(std::shared_ptr<SyncedPart> log) {
    MutexLock lock(mutex_);
    logs_.push_back(std::move(log));
  }
  void Remove(const std::shared_ptr<SyncedPart>& log) {
    MutexLock lock(mutex_);
    std::erase(logs_, log);
  }
  std::vector<std::shared_ptr<SyncedPart>> All() {
    MutexLock lock(mutex_);
    return logs_;
  }

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<SyncedPart>> logs_ AG_GUARDED_BY(mutex_);
};

class DiskEnv::File final : public leveldb::WritableFile {
 public:
  File(std::string path, FileDescriptor file, std::shared_ptr<Space> space,
       std::shared_ptr<SyncedMarks> marks, std::shared_ptr<OpenLogs> logs,
       std::shared_ptr<ReadGate> gate, bool appends)
      : path_(std::move(path)),
        file_(std::make_shared<SyncedPart>(path_, std::move(file), std::move(marks))),
        space_(std::move(space)),
        logs_(std::move(logs)),
        gate_(std::move(gate)) {
    const off_t end = lseek(file_->descriptor(), 0, SEEK_END);
    if (end > 0) file_->AddWritten(static_cast<uint64_t>(end));
    file_->NoteRecordsEnd();  // LevelDB may reuse a file number after its process was killed
    if (file_->name().kind != FileKind::kLog) return;
    logs_->Add(file_);
    if (end == 0 && !appends) prepared_.emplace(file_->descriptor());
  }
  ~File() override {
    WriteBuffer();
    CloseFile();
  }

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
  leveldb::Status Flush() override { return WriteBuffer(); }
  leveldb::Status Sync() override {
    leveldb::Status written = WriteBuffer();
    if (!written.ok()) return written;
    const bool is_manifest = file_->name().kind == FileKind::kManifest;
    if (is_manifest) {
      // Sync the directory first, so that the files that the MANIFEST lists have durable names.
      const Status synced = SyncPath(path_.substr(0, path_.rfind('/')));
      if (!synced.ok()) return Fail(leveldb::Status::IOError(path_, synced.message()));
    }
    const leveldb::Status synced = file_->SyncAll();
    if (!synced.ok()) return Fail(synced);
    // LevelDB installs the tables of a compaction next.
    if (is_manifest) gate_->Close();
    return written;
  }
  leveldb::Status Close() override {
    leveldb::Status written = WriteBuffer();
    CloseFile();
    return written;
  }

 private:
  void CloseFile() {
    if (file_ == nullptr) return;
    logs_->Remove(file_);
    if (prepared_) prepared_->Release(file_->written());
    file_.reset();
  }

  leveldb::Status WriteBuffer() {
    const leveldb::Status written = WriteAll(buffer_);
    buffer_.clear();
    return written;
  }

  leveldb::Status WriteAll(std::string_view bytes) {
    if (prepared_ && !bytes.empty()) prepared_->Prepare(file_->written(), bytes.size());
    // A MANIFEST was written for a flushed log in the middle of a compaction, which goes on: its
    // next table opens the gate again.
    if (file_ != nullptr && file_->name().kind == FileKind::kTable) gate_->Open();
    while (!bytes.empty() && failure_.ok()) {
      ssize_t count = 0;
      const bool wrote = space_->Try(path_, [&] {
        count = write(file_->descriptor(), bytes.data(), bytes.size());
        return count >= 0;
      });
      if (!wrote) return Fail(FailedCall(path_));
      bytes.remove_prefix(static_cast<size_t>(count));
      file_->AddWritten(static_cast<size_t>(count));
    }
    return failure_;
  }

  leveldb::Status Fail(leveldb::Status failure) {
    if (failure_.ok()) failure_ = std::move(failure);
    return failure_;
  }

  const std::string path_;
  std::shared_ptr<SyncedPart> file_;       // null once it is closed
  std::optional<PreparedSpace> prepared_;  // of a new log
  const std::shared_ptr<Space> space_;
  const std::shared_ptr<OpenLogs> logs_;
  const std::shared_ptr<ReadGate> gate_;
  std::string buffer_;
  leveldb::Status failure_;
};

DiskEnv::DiskEnv(std::shared_ptr<ReserveFile> reserve, std::shared_ptr<FolderWatch> files,
                 std::shared_ptr<SyncedMarks> marks, std::shared_ptr<ReadGate> gate)
    : EnvWrapper(leveldb::Env::Default()),
      files_(std::move(files)),
      marks_(std::move(marks)),
      space_(std::make_shared<Space>(std::move(reserve))),
      logs_(std::make_shared<OpenLogs>()),
      gate_(std::move(gate)) {}

DiskEnv::~DiskEnv() {
  EndThread();
}

void DiskEnv::EndThread() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
    thread.swap(thread_);  // a closed database schedules nothing more
  }
  if (thread.joinable()) thread.join();
}

void DiskEnv::LetTablesWait() {
  space_->LetWait();
}

void DiskEnv::StopWaiting() {
  space_->StopWaiting();
}

void DiskEnv::NoteWritten() {
  for (const std::shared_ptr<SyncedPart>& log : logs_->All()) log->NoteRecordsEnd();
}

leveldb::Status DiskEnv::SyncLogs() {
  for (const std::shared_ptr<SyncedPart>& log : logs_->All()) {
    leveldb::Status synced = log->SyncWhole();
    if (!synced.ok()) return synced;
  }
  return leveldb::Status::OK();
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
    gate_->WorkBegins();
    work();
    gate_->WorkEnds();
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
  gate_->Open();
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
  *file = new File(path, std::move(opened), space_, marks_, logs_, gate_, (flags & O_APPEND) != 0);
  return leveldb::Status::OK();
}

}  // namespace agent_graph::state
