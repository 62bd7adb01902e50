// A state directory as an administrator finds it: served by its owner, or at rest.
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
  static Result<StateAccess> Open(const std::string& path);

  const state::StateDirectory& directory() const { return directory_; }
  // No owner is running, and none can start while we are here.
  bool stopped() const { return static_cast<bool>(lock_); }

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

  StateAccess(state::StateDirectory directory, FileDescriptor lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  // From here on others may take the role over.
  Result<std::unique_ptr<state::Owner>> BeOwner();

  state::StateDirectory directory_;
  FileDescriptor lock_;
};

}  // namespace agent_graph::admin
