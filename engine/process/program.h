// Starts one program; for the spawner, which has one thread.
#pragma once

#include <sys/types.h>

#include "base/status.h"
#include "process/process.h"
#include "process/spawn_protocol.h"

namespace agent_graph::process {

struct Program {
  pid_t pid = 0;
  Descriptors pipes = {-1, -1, -1};  // the other ends of its standard descriptors, non-blocking
};

// Runs in a process group of its own and dies with its starter. kInvalidArgument tells why it
// cannot run.
Result<Program> StartProgram(const ProcessOptions& options);

}  // namespace agent_graph::process
