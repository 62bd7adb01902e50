// The process that starts programs for a service's workers; see process.h for why.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace agent_graph::process {

inline constexpr size_t kProgramsMax = 256;  // at once, of one spawner

// The socket that a spawner listens on, and its file. Copies refer to the same descriptors.
struct SpawnerListener {
  int socket = -1;
  int folder = -1;   // the state directory
  std::string name;  // of the socket's file in that folder
  ino_t inode = 0;   // of that file

  // Closes the descriptors. The file stays: another process may listen on the socket.
  void Close();
  // Removes the file and closes the descriptors: nobody listens any more.
  void End();
};

// A listening socket in `state_directory` under a name of its own, made the current one; the
// directory is made when it is missing, and sockets that nobody listens on any more are removed.
// For the process that will fork the spawner.
Result<SpawnerListener> ListenForSpawner(const std::string& state_directory);

// The spawner's life, in a process forked for it while that had one thread. Keeps only the
// listener and the pipe `lifeline`. Serves until the other end of the lifeline is closed and the
// last client is gone, then ends the process.
[[noreturn]] void RunSpawner(SpawnerListener listener, int lifeline);

// The life of the spawner's keeper, forked in the same way: forks the spawner, and another one
// whenever it dies early, on the same socket, so that whoever asks meanwhile only waits. What the
// programs of a dead spawner left behind is ended. `on_start` is called first in each spawner. Ends
// with the spawner whose lifeline was cut.
[[noreturn]] void KeepSpawner(SpawnerListener listener, int lifeline, void (*on_start)());

}  // namespace agent_graph::process
