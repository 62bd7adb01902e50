// A span of OTLP, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace agent_graph::telemetry {

// The values of opentelemetry.proto.trace.v1.Span.SpanKind.
enum class SpanKind : uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

using AttributeValue = std::variant<std::string, int64_t, bool, std::vector<std::string>>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

struct Span {
  std::string trace_id;   // 32 hex digits
  std::string span_id;    // 16 hex digits
  std::string parent_id;  // empty: none
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  int64_t start_micros = 0;  // since 1970
  int64_t end_micros = 0;
  Attributes attributes;
  bool failed = false;
  std::string error;  // the error, if `failed`
};

}  // namespace agent_graph::telemetry
