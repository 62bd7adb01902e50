#include "service/host_options.h"

#include <algorithm>
#include <cstddef>

#include "api/http/request_memory.h"

namespace agent_graph::service {
namespace {

// Accepted runs share the fibers with the runs of connected clients (limits.runs_max), which have
// some to spare. The state gives further ones to other workers.
constexpr size_t kShareOfRuns = 4;

}  // namespace

run::RunHostOptions HostOptions(const settings::Settings& settings, bridge::WorkerMemory& memory) {
  run::RunHostOptions options;
  options.runs_max = std::max<size_t>(settings.limits.runs_max / kShareOfRuns, 1);
  options.starts_max = settings.recovery.concurrency;
  options.memory_of = api::RunMemory;
  options.count_bytes = [&memory](int64_t bytes) { memory.CountHeld(bytes); };
  options.await_bytes = [&memory](uint64_t bytes, uint64_t own_bytes,
                                  const runtime::Cancellation& cancellation, Deadline deadline) {
    return memory.AwaitRoom(bytes, cancellation, deadline, own_bytes);
  };
  return options;
}

}  // namespace agent_graph::service
