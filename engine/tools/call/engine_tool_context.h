// Call context for the engine's own tools, with more than the SDK's ToolContext offers.
#pragma once

#include "agent_graph/tool.h"
#include "base/clock.h"
#include "runtime/cancellation.h"

namespace agent_graph::tools {

struct CallInput;
class ReplyMemory;

// Every context that the engine passes to a tool has this type.
class EngineToolContext : public ToolContext {
 public:
  virtual const runtime::Cancellation& cancellation() const = 0;
  // the earlier of the tool's timeout and the run's deadline
  virtual Deadline deadline() const = 0;
  // Null: the call cannot pause its run, so it cannot ask the user.
  virtual CallInput* input() { return nullptr; }
  // Where a large reply waits for memory. Null: it does not wait.
  virtual ReplyMemory* reply_memory() { return nullptr; }
};

}  // namespace agent_graph::tools
