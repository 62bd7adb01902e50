// Live sessions for the API: starts a run for a session and drives the session until its end.
#pragma once

#include <cstdint>
#include <string>

#include "bridge/exchange.h"
#include "live/counters.h"
#include "live/init_frame.h"
#include "run/call_memory.h"
#include "run/loop/runner.h"
#include "run/run_request.h"

namespace agent_graph::graph {
class CompiledGraph;
}
namespace agent_graph::realtime {
class Registry;
}

namespace agent_graph::live {

// Parts of the service that sessions use. Everything outlives every session and is thread-safe.
struct LiveContext {
  run::Runner* runner = nullptr;
  state::Service* state = nullptr;  // null: nothing is stored
  const graph::CompiledGraph* graph = nullptr;
  const realtime::Registry* models = nullptr;
  LiveCounters* counters = nullptr;
  uint64_t sessions_max = 1000;
  // Limit of the worker; audio beyond it is dropped.
  uint64_t buffered_bytes_max = 256ull * 1024 * 1024;
};

// Runs a session until its end on the calling fiber, as part of the turn that its first frame
// started, and closes the socket. The graph must be live, and the caller must be allowed to use the
// thread. `request` contains the caller and the thread and no messages. `memory` counts the thread
// while it is read, and the calls of tools.
void RunSession(bridge::Exchange& exchange, const LiveContext& context, run::RunRequest request,
                const InitFrame& init, run::CallMemory& memory);

// Sends a fatal error event and closes the socket.
void Refuse(bridge::Exchange& exchange, const std::string& code, const std::string& message,
            uint16_t close_code);

}  // namespace agent_graph::live
