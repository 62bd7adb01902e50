// Tries code that may crash, such as loading a graph, in a forked child process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "base/status.h"

namespace agent_graph::service {

// nginx and agent-graph give the builders of a graph this time.
constexpr std::chrono::seconds kTrialLimit{10};

struct Trial {
  // Named by failures of the child itself, unless it was loading another shared object.
  std::string graph;
  size_t bytes_max = 0;  // bounds the text or message that `function` returns; the rest is cut off
  std::chrono::seconds limit = kTrialLimit;
  // The child's part; an exception becomes a failure with its text. `report` is the descriptor of
  // the pipe to the parent, which the function may move to another number.
  std::function<Result<std::string>(int& report)> function;
};

// Forks, so call it in a process without other threads. Returns what the function returns. kGraph:
// the child crashed, ended the process, or took longer than the limit; the text names the shared
// object that the child loaded last. No child is left behind.
Result<std::string> TryInChild(const Trial& trial);

}  // namespace agent_graph::service
