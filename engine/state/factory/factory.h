// Makes the state's objects from StateOptions, for the backend that `type` names. A backend is one
// line of the table in factory.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/backend.h"
#include "state/calls/executor.h"
#include "state/maintenance.h"
#include "state/options.h"
#include "state/state_server.h"

namespace agent_graph::state {

// The names that StateOptions::type may have.
std::vector<std::string> BackendTypes();

// Makes a worker's backend: a client of the state server of options.directory. Start it after fork.
std::unique_ptr<Backend> MakeBackend(const StateOptions& options);

// Checks the state directory and starts a candidate for the state server's role; returns at once.
// kInvalidArgument: unknown type.
Result<std::unique_ptr<StateServer>> StartStateServer(const StateOptions& options);

// The stored data itself, without a state server. Null if the type is unknown.
std::unique_ptr<Storage> MakeStorage(const StateOptions& options);

// Maintenance of stored data in the folder `database` (StateDirectory::database_path, or that of a
// backup). No process may use it. Null if data of this type is not kept in a folder.
std::unique_ptr<ClosedState> MakeClosedState(const std::string& database,
                                             const std::string& type = StateOptions().type);

}  // namespace agent_graph::state
