// A state in memory with its own server, for one test.
#pragma once

#include <memory>
#include <string>

#include "state/backend.h"
#include "state/state_server.h"

namespace agent_graph::graph_test {

// Only its socket is in a temporary folder. Throws std::runtime_error if it cannot be started.
class MemoryState {
 public:
  MemoryState();
  ~MemoryState();
  MemoryState(const MemoryState&) = delete;
  MemoryState& operator=(const MemoryState&) = delete;

  state::Backend& backend() { return *backend_; }

 private:
  std::string directory_;
  std::unique_ptr<state::StateServer> server_;
  std::unique_ptr<state::Backend> backend_;
};

}  // namespace agent_graph::graph_test
