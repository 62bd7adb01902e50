// The header `traceparent` of W3C Trace Context.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::telemetry {

// A valid header.
struct TraceParent {
  std::string trace_id;  // 32 lower-case hex digits, not all zero
  std::string span_id;   // 16 lower-case hex digits, not all zero
  bool sampled = false;
};

// Returns nullopt if the header is not valid; the run then starts a new trace.
std::optional<TraceParent> ParseTraceParent(std::string_view header);

}  // namespace agent_graph::telemetry
