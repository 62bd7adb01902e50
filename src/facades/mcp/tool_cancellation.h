// Ends a tool of the graph whose call the client cancels. A call of the agent needs no such thing:
// the notification stops its run.
#pragma once

#include <memory>
#include <string>

#include "api/http/context.h"
#include "facades/run/keep_alive.h"
#include "runtime/cancellation.h"

namespace agent_graph::mcp {

// Lives as long as the tool is called, on the fiber of the request. The end of a call waits for a
// look at the state that is in progress.
class ToolCancellation {
 public:
  // `key`: see CallKey. The context must outlive this object.
  ToolCancellation(api::HandlerContext& context, std::string key);

  // Cancelled with the exchange, and after the notification, which any worker may get: within a
  // second in a short call, within 8 s in one that takes long.
  const runtime::Cancellation& cancellation() const { return cancellation_; }

 private:
  const runtime::Cancellation cancellation_;
  const std::unique_ptr<runtime::Cancellation::Registration> with_exchange_;
  facades::KeepAlive looks_;
};

}  // namespace agent_graph::mcp
