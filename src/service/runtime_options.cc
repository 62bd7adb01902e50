#include "service/runtime_options.h"

namespace agent_graph::service {
namespace {

// Each run takes a fiber and may start others, for model calls of its functions and for parallel
// tools. Without spare fibers, runs that wait for such fibers could occupy the whole engine.
constexpr size_t kFibersPerRun = 2;
// Fibers of the service itself, for example for connections that it keeps open.
constexpr size_t kOwnFibers = 64;

}  // namespace

runtime::RuntimeOptions ToRuntimeOptions(const settings::Settings& settings,
                                         const ServiceOptions& options, bridge::Outbox& log) {
  runtime::RuntimeOptions runtime;
  runtime.threads = options.threads;
  runtime.fibers_max = kFibersPerRun * settings.limits.runs_max + kOwnFibers;
  runtime.function_bytes_max = settings.limits.function_bytes_max;
  runtime.name = options.name.substr(0, 8);
  runtime.on_uncaught = [&log](const std::string& line) {
    log.Log(bridge::LogLevel::kError, line);
  };
  return runtime;
}

}  // namespace agent_graph::service
