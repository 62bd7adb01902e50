#include "admin/state_access.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_text.h"

namespace agent_graph::admin {
namespace {

Status BecomeOwnerOf(const std::string& directory) {
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0) {
    return Status(StatusCode::kNotFound, directory + ": " + ErrnoText(errno));
  }
  if (geteuid() != 0 || info.st_uid == 0) return Status::Ok();
  if (setgroups(0, nullptr) != 0 || setgid(info.st_gid) != 0 || setuid(info.st_uid) != 0) {
    return Status(StatusCode::kPermissionDenied, "cannot become the owner of " + directory);
  }
  return Status::Ok();
}

}  // namespace

Result<StateAccess> StateAccess::Open(const std::string& path) {
  AG_RETURN_IF_ERROR(BecomeOwnerOf(path));
  if (state::StateDirectory::IsBackup(path)) {
    AG_ASSIGN_OR_RETURN(state::StateDirectory backup, state::StateDirectory::OpenBackup(path));
    return StateAccess(std::move(backup), FileDescriptor(), /*is_backup=*/true);
  }
  AG_ASSIGN_OR_RETURN(state::StateDirectory directory, state::StateDirectory::Open(path));
  Result<FileDescriptor> lock = directory.TryLock();
  if (!lock.ok() && lock.status().code() != StatusCode::kBusy) return lock.status();
  return StateAccess(std::move(directory), lock.ok() ? std::move(*lock) : FileDescriptor(),
                     /*is_backup=*/false);
}

Result<std::unique_ptr<state::StateServer>> StateAccess::Serve(const state::StateOptions& options) {
  lock_.Reset();
  return state::StartStateServer(options);
}

}  // namespace agent_graph::admin
