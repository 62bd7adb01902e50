// The spawner's socket in the state directory:
//
//   spawner.<pid>.sock  the socket; pid of the process that created it
//   spawner.sock        a symlink to the newest one
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph::process {

// A non-blocking connection to the current spawner; kUnavailable if there is none.
Result<int> ConnectToSpawner(const std::string& state_directory);

// True if the process at the other end belongs to our user or root.
bool IsTrustedPeer(int socket);

}  // namespace agent_graph::process
