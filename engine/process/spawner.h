// The spawner: the process that starts programs for a service's workers (process.h explains why).
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace agent_graph::process {

inline constexpr size_t kProgramsMax = 256;  // running at once, per spawner

// The socket that a spawner listens on, and its file. Copies refer to the same descriptors.
struct SpawnerListener {
  int socket = -1;
  int folder = -1;   // the state directory
  std::string name;  // the name of the socket's file in that folder
  ino_t inode = 0;   // the inode of that file

  // Closes the descriptors. The file stays, because another process may listen on the socket.
  void Close();
  // Removes the file and closes the descriptors; use it when no process listens any more.
  void End();
};

// Creates a listening socket with a unique name in `state_directory` and makes it the current one.
// Creates the directory if it is missing, and removes sockets that have no listener. Called by the
// process that will fork the spawner.
Result<SpawnerListener> ListenForSpawner(const std::string& state_directory);

// Runs the spawner in a process that was forked from a single-threaded one. Keeps only the listener
// and the pipe `lifeline` open. Serves until the other end of the lifeline is closed and the last
// client has disconnected, then ends the process.
[[noreturn]] void RunSpawner(SpawnerListener listener, int lifeline);

// Runs the keeper of the spawner in a process that was forked in the same way. It forks the
// spawner, and a new one on the same socket whenever the spawner dies early, so that requests
// meanwhile only wait. It ends the processes that a dead spawner's programs left behind. Each
// spawner calls `on_start` first. The keeper ends with the spawner whose lifeline was closed.
[[noreturn]] void KeepSpawner(SpawnerListener listener, int lifeline, void (*on_start)());

}  // namespace agent_graph::process
