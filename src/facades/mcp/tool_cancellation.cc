#include "facades/mcp/tool_cancellation.h"

#include <chrono>
#include <utility>

#include "facades/mcp/asking.h"

namespace agent_graph::mcp {
namespace {

// The state wakes no reader of a key, so the fiber of each look asks again.
constexpr std::chrono::milliseconds kLookInterval{1000};

}  // namespace

ToolCancellation::ToolCancellation(api::HandlerContext& context, std::string key)
    : with_exchange_(context.exchange().cancellation().OnCancel([&context, mine = cancellation_] {
        mine.Cancel(context.exchange().cancellation().reason());
      })),
      looks_(kLookInterval, [&context, key = std::move(key), mine = cancellation_] {
        const Result<bool> cancelled = IsCancelled(context, key);
        if (cancelled.ok() && *cancelled) mine.Cancel(runtime::CancelReason::kStopped);
      }) {}

}  // namespace agent_graph::mcp
