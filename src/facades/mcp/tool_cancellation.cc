#include "facades/mcp/tool_cancellation.h"

#include <chrono>
#include <utility>

#include "facades/mcp/asking.h"

namespace agent_graph::mcp {
namespace {

// The state wakes no reader of a key, so the fiber of each look asks again, at longer intervals if
// the call takes long: many calls may run at a time.
constexpr std::chrono::milliseconds kFirstInterval{1000};
constexpr std::chrono::milliseconds kIntervalMax{8000};

}  // namespace

ToolCancellation::ToolCancellation(api::HandlerContext& context, std::string key)
    : with_exchange_(context.exchange().cancellation().OnCancel([&context, mine = cancellation_] {
        mine.Cancel(context.exchange().cancellation().reason());
      })),
      looks_(
          kFirstInterval,
          [&context, key = std::move(key), mine = cancellation_] {
            const Result<bool> cancelled = IsCancelled(context, key);
            if (cancelled.ok() && *cancelled) mine.Cancel(runtime::CancelReason::kStopped);
          },
          kIntervalMax) {}

}  // namespace agent_graph::mcp
