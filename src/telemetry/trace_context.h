// The header `traceparent` of W3C Trace Context.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::telemetry {

struct TraceParent {
  std::string trace_id;  // 32 lower-case hex digits, not all zero
  std::string span_id;   // 16, likewise
  bool sampled = false;
};

// Nothing when the header is not what the recommendation allows; then a trace begins anew.
std::optional<TraceParent> ParseTraceParent(std::string_view header);

}  // namespace agent_graph::telemetry
