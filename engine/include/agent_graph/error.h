// Exceptions that SDK calls throw. Usually you do not catch them: an exception that leaves a node
// ends its run with an error, and one that leaves a tool becomes a failed tool result.
#pragma once

#include <stdexcept>
#include <string>

#include "agent_graph/export.h"

namespace agent_graph {

// A model call failed; what() is safe to show to a client.
class AGENT_GRAPH_API ModelError : public std::runtime_error {
 public:
  explicit ModelError(const std::string& what) : std::runtime_error(what) {}
  ~ModelError() override;
};

// The memory store failed, or none is configured; what() is safe to show to a client.
class AGENT_GRAPH_API MemoryError : public std::runtime_error {
 public:
  explicit MemoryError(const std::string& what) : std::runtime_error(what) {}
  ~MemoryError() override;
};

// The run was cancelled (client disconnected, stop request, deadline, shutdown) during the call.
class AGENT_GRAPH_API RunCancelled : public std::runtime_error {
 public:
  explicit RunCancelled(const std::string& reason) : std::runtime_error(reason) {}
  ~RunCancelled() override;
};

}  // namespace agent_graph
