#include "run/run_environment.h"

#include <algorithm>

namespace agent_graph::run {

models::ModelProvider* RunEnvironment::FindModel(const std::string& name) const {
  return services->find_model ? services->find_model(name) : nullptr;
}

Deadline RunEnvironment::DeadlineOf(std::chrono::milliseconds timeout) const {
  return std::min(deadline, DeadlineAfter(timeout));
}

void RunEnvironment::Log(LogLevel level, std::string_view node, std::string_view text) const {
  if (!services->log) return;
  std::string line = "run " + run_id;
  if (!node.empty()) line.append(" node ").append(node);
  line.append(": ").append(text);
  services->log(level, line);
}

}  // namespace agent_graph::run
