// Starts one program. Called by the spawner, which has a single thread.
#pragma once

#include <sys/types.h>

#include "base/status.h"
#include "process/process.h"
#include "process/spawn_protocol.h"

namespace agent_graph::process {

struct Program {
  pid_t pid = 0;
  Descriptors pipes = {-1, -1, -1};  // our ends of its standard descriptors, non-blocking
};

// The program runs in a process group of its own and dies with the process that started it.
// kInvalidArgument: it cannot be run; the message has the reason.
Result<Program> StartProgram(const ProcessOptions& options);

}  // namespace agent_graph::process
