// Writes the body of POST /v1/traces:
// opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest in the JSON encoding of protocol
// buffers, with OTLP's exceptions: ids are hex digits, enumerations are numbers. 64-bit integers
// are strings.
#pragma once

#include <string>
#include <vector>

#include "telemetry/span.h"

namespace agent_graph::telemetry {

std::string ExportRequestJson(const Attributes& resource, const std::vector<Span>& spans);

}  // namespace agent_graph::telemetry
