#include "state/leveldb/disk/folder_watch.h"

#include <sys/stat.h>

#include <utility>

namespace agent_graph::state {
namespace {

constexpr char kCurrentFile[] = "/CURRENT";

std::optional<FileIdentity> Identity(const struct stat& info) {
  return FileIdentity{info.st_dev, info.st_ino};
}

}  // namespace

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Identity(info);
}

std::optional<FileIdentity> IdentityOf(int descriptor) {
  struct stat info{};
  if (fstat(descriptor, &info) != 0) return std::nullopt;
  return Identity(info);
}

FolderWatch::FolderWatch(std::string folder)
    : folder_(std::move(folder)), folder_identity_(IdentityOf(folder_)) {}

void FolderWatch::UseLog(const std::string& path, int descriptor) {
  MutexLock lock(mutex_);
  log_path_ = path;
  log_ = IdentityOf(descriptor);
}

void FolderWatch::Begin() {
  MutexLock lock(mutex_);
  current_ = IdentityOf(folder_ + kCurrentFile).value_or(FileIdentity{});
}

bool FolderWatch::HasFolder() const {
  return IdentityOf(folder_) == folder_identity_;
}

Status FolderWatch::Check() const {
  MutexLock lock(mutex_);
  if (!current_) return Status::Ok();
  if (IdentityOf(folder_ + kCurrentFile) == current_ &&
      (log_path_.empty() || IdentityOf(log_path_) == log_)) {
    return Status::Ok();
  }
  return Status(StatusCode::kUnavailable, "the state database does not answer")
      .WithDetail(
          folder_ +
          ": its files were deleted, moved or replaced while they were in use; put them back, "
          "or restart nginx to go on with what is there");
}

}  // namespace agent_graph::state
