// The spawner's socket in the state directory:
//
//   spawner.<pid>.sock  of the process that listens
//   spawner.sock        a symlink to the newest
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph::process {

// A connection to the current spawner, non-blocking; kUnavailable when there is none.
Result<int> ConnectToSpawner(const std::string& state_directory);

// The process at the other end is our user's, or root's.
bool IsTrustedPeer(int socket);

}  // namespace agent_graph::process
