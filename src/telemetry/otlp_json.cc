#include "telemetry/otlp_json.h"

#include "base/json.h"
#include "base/json_array.h"
#include "base/version.h"

namespace agent_graph::telemetry {
namespace {

constexpr int kStatusError = 2;

void AppendMember(std::string& out, const char* key, std::string_view text) {
  out.append("\"").append(key).append("\":");
  AppendJsonString(out, text);
}

struct ValueWriter {
  std::string& out;

  void operator()(const std::string& text) const { AppendMember(out, "stringValue", text); }
  void operator()(int64_t number) const { AppendMember(out, "intValue", std::to_string(number)); }
  void operator()(bool value) const { out += value ? "\"boolValue\":true" : "\"boolValue\":false"; }
  void operator()(const std::vector<std::string>& texts) const {
    out += "\"arrayValue\":{\"values\":[";
    for (size_t i = 0; i < texts.size(); ++i) {
      out += i > 0 ? ",{" : "{";
      AppendMember(out, "stringValue", texts[i]);
      out += '}';
    }
    out += "]}";
  }
};

void AppendAttributes(std::string& out, const Attributes& attributes) {
  out += "\"attributes\":[";
  for (size_t i = 0; i < attributes.size(); ++i) {
    out += i > 0 ? ",{" : "{";
    AppendMember(out, "key", attributes[i].first);
    out += ",\"value\":{";
    std::visit(ValueWriter{out}, attributes[i].second);
    out += "}}";
  }
  out += ']';
}

std::string Nanoseconds(int64_t micros) {
  return std::to_string(micros) + "000";
}

void AppendSpan(std::string& out, const Span& span) {
  out += '{';
  AppendMember(out, "traceId", span.trace_id);
  out += ',';
  AppendMember(out, "spanId", span.span_id);
  if (!span.parent_id.empty()) {
    out += ',';
    AppendMember(out, "parentSpanId", span.parent_id);
  }
  out += ',';
  AppendMember(out, "name", span.name);
  out += ",\"kind\":" + std::to_string(static_cast<int>(span.kind)) + ',';
  AppendMember(out, "startTimeUnixNano", Nanoseconds(span.start_micros));
  out += ',';
  AppendMember(out, "endTimeUnixNano", Nanoseconds(span.end_micros));
  out += ',';
  AppendAttributes(out, span.attributes);
  if (span.failed) {
    out += ",\"status\":{\"code\":" + std::to_string(kStatusError) + ',';
    AppendMember(out, "message", span.error);
    out += '}';
  }
  out += '}';
}

}  // namespace

std::string ExportRequestJson(const Attributes& resource, const std::vector<Span>& spans) {
  std::string out;
  out.reserve(512 + spans.size() * 768);
  out += "{\"resourceSpans\":[{\"resource\":{";
  AppendAttributes(out, resource);
  out += "},\"scopeSpans\":[{\"scope\":{\"name\":\"agent_graph\",";
  AppendMember(out, "version", kVersion);
  out += "},\"spans\":";
  AppendJsonArray(out, spans, AppendSpan);
  out += "}]}]}";
  return out;
}

}  // namespace agent_graph::telemetry
