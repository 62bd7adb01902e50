// Access of the administration program to a state directory, with or without a running state
// server, or to a backup.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "admin/server_watch.h"
#include "base/file_descriptor.h"
#include "base/status.h"
#include "state/backend.h"
#include "state/directory/state_directory.h"
#include "state/factory/factory.h"
#include "state/maintenance.h"
#include "state/state_server.h"

namespace agent_graph::admin {

// Used on the main thread of the program. Holds the lock of the directory while no state server
// runs.
class StateAccess {
 public:
  // Opens `path`. If this process is root, it switches to the user that owns the directory: workers
  // could not open files that root creates.
  //
  // A folder with a database but without a lock file is a backup. It is opened without creating a
  // lock file, and other users may be able to read it, for example after it was copied to another
  // disk.
  static Result<StateAccess> Open(const std::string& path);

  const state::StateDirectory& directory() const { return directory_; }
  bool is_backup() const { return is_backup_; }
  // True if no state server is running and none can start while this object exists. Always true for
  // a backup.
  bool stopped() const { return is_backup_ || static_cast<bool>(lock_); }

  // Runs `use` with a client of the running state server. Blocks. kUnavailable: the server stopped
  // and no other one started.
  template <typename Use>
  auto Ask(const Use& use) -> decltype(use(std::declval<state::Backend&>())) {
    state::StateOptions options;
    options.directory = directory_.path();
    options.operation_timeout = kOperationTimeout;
    const std::unique_ptr<state::Backend> client = state::MakeBackend(options);
    AG_RETURN_IF_ERROR(client->Start());
    ServerWatch watch(directory_, [&client] { client->Stop(); });
    AG_RETURN_IF_ERROR(watch.Start());
    auto answer = use(*client);
    if (watch.End() && !answer.ok()) {
      return Status(StatusCode::kUnavailable, "nginx was stopped meanwhile");
    }
    client->Stop();
    return answer;
  }

  // The stored data; only while stopped().
  std::unique_ptr<state::ClosedState> closed() const {
    return state::MakeClosedState(directory_.database_path());
  }

  // Like Ask. If no state server is running, this process serves the state meanwhile. `options` are
  // those of the service, because they decide what a server stores.
  template <typename Use>
  auto AskAnyServer(const state::StateOptions& options, const Use& use)
      -> decltype(use(std::declval<state::Backend&>())) {
    std::unique_ptr<state::StateServer> server;
    if (stopped()) {
      AG_ASSIGN_OR_RETURN(server, Serve(options));
    }
    return Ask(use);
  }

 private:
  static constexpr std::chrono::hours kOperationTimeout{24};

  StateAccess(state::StateDirectory directory, FileDescriptor lock, bool is_backup)
      : directory_(std::move(directory)), lock_(std::move(lock)), is_backup_(is_backup) {}

  // Starts the state server in this process. The lock is released, so another process may take the
  // role over.
  Result<std::unique_ptr<state::StateServer>> Serve(const state::StateOptions& options);

  state::StateDirectory directory_;
  FileDescriptor lock_;
  bool is_backup_;
};

}  // namespace agent_graph::admin
