// A session on its socket: one fiber that moves what comes to the state machine and what the state
// machine wants to where it belongs.
#pragma once

#include <cstdint>
#include <string>

#include "bridge/exchange.h"
#include "live/counters.h"
#include "live/init_frame.h"
#include "run/runner.h"

namespace agent_graph::graph {
class CompiledGraph;
}
namespace agent_graph::realtime {
class Registry;
}

namespace agent_graph::live {

// Everything outlives every session; all of it is thread-safe.
struct LiveContext {
  run::Runner* runner = nullptr;
  state::Service* state = nullptr;  // null: nothing is kept
  const graph::CompiledGraph* graph = nullptr;
  const realtime::Registry* models = nullptr;
  LiveCounters* counters = nullptr;
  uint64_t sessions_max = 1000;
  uint64_t buffered_bytes_max = 256ull * 1024 * 1024;  // of the worker; sound beyond it is lost
};

// Runs the session to its end on the calling fiber, as part of the turn that its first frame began,
// and closes the socket. The graph is live, the caller may use the thread. `request` says who the
// caller is and names the thread; it has no messages.
void RunSession(bridge::Exchange& exchange, const LiveContext& context, run::RunRequest request,
                const InitFrame& init);

// A fatal error event, and the close.
void Refuse(bridge::Exchange& exchange, const std::string& code, const std::string& message,
            uint16_t close_code);

}  // namespace agent_graph::live
