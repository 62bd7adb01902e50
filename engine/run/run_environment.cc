#include "run/run_environment.h"

#include <chrono>

namespace agent_graph::run {

models::ModelProvider* RunEnvironment::FindModel(const std::string& name) const {
  return services->find_model ? services->find_model(name) : nullptr;
}

Deadline RunEnvironment::DeadlineOf(std::chrono::milliseconds timeout) const {
  // Compared before they are added, because graphs may have timeouts that the clock cannot reach.
  const auto now = MonotonicClock::now();
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
  return timeout >= left ? deadline : now + timeout;
}

void RunEnvironment::Log(LogLevel level, std::string_view node, std::string_view text) const {
  if (!services->log) return;
  std::string line = "run " + run_id;
  if (!node.empty()) line.append(" node ").append(node);
  line.append(": ").append(text);
  services->log(level, line);
}

}  // namespace agent_graph::run
