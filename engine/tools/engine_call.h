// What the engine's own tools know of a call beyond the SDK's ToolContext.
#pragma once

#include "agent_graph/tool.h"
#include "base/clock.h"
#include "runtime/cancellation.h"

namespace agent_graph::tools {

struct CallInput;

// Every context that the engine gives to a tool is one of these.
class EngineToolContext : public ToolContext {
 public:
  virtual const runtime::Cancellation& cancellation() const = 0;
  virtual Deadline deadline() const = 0;  // the tool's timeout and the run's deadline
  // Null: the call cannot pause its run, so that it cannot ask the user.
  virtual CallInput* input() { return nullptr; }
};

}  // namespace agent_graph::tools
