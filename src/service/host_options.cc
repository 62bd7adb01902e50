#include "service/host_options.h"

#include <chrono>

#include "api/http/request_memory.h"

namespace agent_graph::service {

run::RunHostOptions HostOptions(const settings::Settings& settings, bridge::WorkerMemory& memory) {
  run::RunHostOptions options;
  options.runs_max = settings.limits.runs_max;
  options.continues_lost_runs = settings.recovery.enabled;
  options.starts_max = settings.recovery.concurrency;
  options.lost_age_max = std::chrono::seconds(settings.recovery.age_seconds_max);
  options.memory_of = api::RunMemory;
  options.count_bytes = [&memory](int64_t bytes) { memory.CountHeld(bytes); };
  options.await_bytes = [&memory](uint64_t bytes, const runtime::Cancellation& cancellation,
                                  Deadline deadline) {
    return memory.AwaitRoom(bytes, cancellation, deadline);
  };
  return options;
}

}  // namespace agent_graph::service
