// A state directory as an administrator finds it: served by its owner, or at rest; or a backup.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "admin/owner_watch.h"
#include "base/file_descriptor.h"
#include "base/status.h"
#include "state/client.h"
#include "state/owner.h"
#include "state/owner/directory.h"

namespace agent_graph::admin {

class StateAccess {
 public:
  // Becomes the owner of the directory when we are root: what root makes in it the workers could
  // not open.
  //
  // A folder with a database but without a lock is a backup. It stays one: it gets no lock, and it
  // may be readable by others, for example after it was copied to another disk.
  static Result<StateAccess> Open(const std::string& path);

  const state::StateDirectory& directory() const { return directory_; }
  bool is_backup() const { return is_backup_; }
  // No owner is running, and none can start while we are here. Always true of a backup.
  bool stopped() const { return is_backup_ || static_cast<bool>(lock_); }

  // Asks the owner that there is. kUnavailable when it goes and no other comes.
  template <typename Use>
  auto Ask(const Use& use) -> decltype(use(std::declval<state::Client&>())) {
    state::ClientOptions options;
    options.directory = directory_.path();
    options.operation_timeout = kPatience;
    state::Client client(options);
    AG_RETURN_IF_ERROR(client.Start());
    OwnerWatch watch(directory_, [&client] { client.Stop(); });
    AG_RETURN_IF_ERROR(watch.Start());
    auto answer = use(client);
    if (watch.End() && !answer.ok()) {
      return Status(StatusCode::kUnavailable, "nginx was stopped meanwhile");
    }
    client.Stop();
    return answer;
  }

  // The same; without one we are it for so long.
  template <typename Use>
  auto AskAnyOwner(const Use& use) -> decltype(use(std::declval<state::Client&>())) {
    std::unique_ptr<state::Owner> owner;
    if (stopped()) {
      AG_ASSIGN_OR_RETURN(owner, BeOwner());
    }
    return Ask(use);
  }

 private:
  static constexpr std::chrono::hours kPatience{24};

  StateAccess(state::StateDirectory directory, FileDescriptor lock, bool is_backup)
      : directory_(std::move(directory)), lock_(std::move(lock)), is_backup_(is_backup) {}

  // From here on others may take the role over.
  Result<std::unique_ptr<state::Owner>> BeOwner();

  state::StateDirectory directory_;
  FileDescriptor lock_;
  bool is_backup_;
};

}  // namespace agent_graph::admin
