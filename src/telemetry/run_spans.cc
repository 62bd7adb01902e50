#include "telemetry/run_spans.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include "agent_graph/json.h"
#include "base/ids.h"
#include "base/letter_case.h"
#include "base/own_json.h"
#include "telemetry/trace_context.h"

namespace agent_graph::telemetry {
namespace {

std::string NewSpanId() {
  char text[17];
  uint64_t id = RandomUint64();
  if (id == 0) id = 1;
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

std::string TextAt(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t IntegerAt(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool IsTrueAt(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// Returns `error.type` by the semantic conventions: their own value if there is one, otherwise a
// name with few distinct values.
std::string ErrorType(const std::string& code) {
  if (code.empty() || code == "INTERNAL" || code == "UNKNOWN") return "_OTHER";
  if (code == "DEADLINE_EXCEEDED") return "timeout";
  return LowerCase(code);
}

// Builds the spans of a run from its log entries.
class RunSpans {
 public:
  RunSpans(const run::RunRecord& record, const std::optional<TraceParent>& parent,
           const ModelIdentities& models)
      : record_(record), models_(models), trace_id_(parent ? parent->trace_id : NewHexId()) {
    Span& root = Add("invoke_agent " + record.graph_name, parent ? parent->span_id : "",
                     record.started_micros);
    root.attributes = {{"gen_ai.operation.name", "invoke_agent"},
                       {"gen_ai.agent.name", record.graph_name},
                       {"gen_ai.conversation.id", record.thread_id},
                       {"agent_graph.run.id", record.run_id},
                       {"agent_graph.run.status", record.status}};
  }

  void Take(const state::LogEntry& entry) {
    const Result<json> parsed = ParseJson(entry.json, kOwnJsonLimits);
    if (!parsed.ok() || !parsed->is_object()) return;
    const json& fields = *parsed;
    if (entry.kind == "node_started") {
      StartNode(fields, entry.micros);
    } else if (entry.kind == "node_finished") {
      EndNode(entry.micros);
    } else if (entry.kind == "model_finished" || entry.kind == "model_failed") {
      AddModelCall(fields, entry);
    } else if (entry.kind == "tool_started") {
      StartTool(fields, entry.micros);
    } else if (entry.kind == "tool_finished" || entry.kind == "tool_paused") {
      EndTool(fields, entry.micros);
    } else if (entry.kind == "error") {
      Fail(spans_[node_], TextAt(fields, "code"), TextAt(fields, "reason"));
      Fail(spans_[kRoot], TextAt(fields, "code"), TextAt(fields, "reason"));
    }
  }

  std::vector<Span> Finish() && {
    Span& root = spans_[kRoot];
    root.end_micros = record_.finished_micros;
    if (input_tokens_ + output_tokens_ > 0) {
      root.attributes.emplace_back("gen_ai.usage.input_tokens", input_tokens_);
      root.attributes.emplace_back("gen_ai.usage.output_tokens", output_tokens_);
    }
    // Spans that were open when the run ended get the end time of the run.
    for (Span& span : spans_) {
      if (span.end_micros == 0) span.end_micros = record_.finished_micros;
      span.end_micros = std::max(span.end_micros, span.start_micros);
    }
    return std::move(spans_);
  }

 private:
  static constexpr size_t kRoot = 0;

  Span& Add(std::string name, const std::string& parent_id, int64_t start_micros) {
    Span span;
    span.trace_id = trace_id_;
    span.span_id = NewSpanId();
    span.parent_id = parent_id;
    span.name = std::move(name);
    span.start_micros = start_micros;
    spans_.push_back(std::move(span));
    return spans_.back();
  }

  static void Fail(Span& span, const std::string& code, const std::string& text) {
    if (span.failed) return;
    span.failed = true;
    span.error = text;
    span.attributes.emplace_back("error.type", ErrorType(code));
  }

  void StartNode(const json& fields, int64_t micros) {
    const std::string node = TextAt(fields, "node");
    Span& span = Add("node " + node, spans_[kRoot].span_id, micros);
    span.attributes = {{"agent_graph.node.name", node},
                       {"agent_graph.node.step", IntegerAt(fields, "step")}};
    node_ = spans_.size() - 1;
  }

  void EndNode(int64_t micros) {
    if (node_ != kRoot) spans_[node_].end_micros = micros;
    node_ = kRoot;
  }

  void AddModelCall(const json& fields, const state::LogEntry& entry) {
    const std::string role = TextAt(fields, "model_name");
    const auto identity = models_.find(role);
    const std::string asked =
        identity == models_.end() || identity->second.model.empty() ? role : identity->second.model;
    const int64_t duration = IntegerAt(fields, "duration_micros");
    const std::string parent = spans_[node_].span_id;
    Span& span = Add("chat " + asked, parent, entry.micros - duration);
    span.kind = SpanKind::kClient;
    span.end_micros = entry.micros;
    span.attributes = {{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", asked}};
    if (identity != models_.end()) {
      span.attributes.emplace_back("gen_ai.provider.name", identity->second.provider);
    }
    if (entry.kind == "model_failed") {
      return Fail(span, TextAt(fields, "code"), TextAt(fields, "reason"));
    }
    if (std::string model = TextAt(fields, "model"); !model.empty()) {
      span.attributes.emplace_back("gen_ai.response.model", std::move(model));
    }
    span.attributes.emplace_back("gen_ai.response.finish_reasons",
                                 std::vector<std::string>{TextAt(fields, "stop_reason")});
    const int64_t input = IntegerAt(fields, "input_tokens");
    const int64_t output = IntegerAt(fields, "output_tokens");
    if (input + output == 0) return;  // the provider did not report usage
    span.attributes.emplace_back("gen_ai.usage.input_tokens", input);
    span.attributes.emplace_back("gen_ai.usage.output_tokens", output);
    input_tokens_ += input;
    output_tokens_ += output;
  }

  // Entries of tool calls are written after all calls have ended; each contains its own start and
  // end time.
  void StartTool(const json& fields, int64_t micros) {
    const int64_t started = IntegerAt(fields, "micros");
    const std::string tool = TextAt(fields, "tool");
    const std::string call_id = TextAt(fields, "call_id");
    const std::string parent = spans_[node_].span_id;
    Span& span = Add("execute_tool " + tool, parent, started > 0 ? started : micros);
    span.attributes = {{"gen_ai.operation.name", "execute_tool"},
                       {"gen_ai.tool.name", tool},
                       {"gen_ai.tool.call.id", call_id},
                       {"gen_ai.tool.type", "function"}};
    tools_[call_id] = spans_.size() - 1;
  }

  void EndTool(const json& fields, int64_t micros) {
    const auto found = tools_.find(TextAt(fields, "call_id"));
    if (found == tools_.end()) return;
    Span& span = spans_[found->second];
    const int64_t ended = IntegerAt(fields, "micros");
    span.end_micros = ended > 0 ? ended : micros;
    if (IsTrueAt(fields, "is_error")) Fail(span, "tool_error", "the tool failed");
  }

  const run::RunRecord& record_;
  const ModelIdentities& models_;
  const std::string trace_id_;
  std::vector<Span> spans_;
  size_t node_ = kRoot;                            // span of the current node
  std::unordered_map<std::string, size_t> tools_;  // call id → span
  int64_t input_tokens_ = 0;
  int64_t output_tokens_ = 0;
};

}  // namespace

std::vector<Span> SpansOf(const run::RunRecord& record, const ModelIdentities& models) {
  const std::optional<TraceParent> parent = ParseTraceParent(record.trace_parent);
  if (parent && !parent->sampled) return {};
  RunSpans spans(record, parent, models);
  for (const state::LogEntry& entry : record.entries) spans.Take(entry);
  return std::move(spans).Finish();
}

}  // namespace agent_graph::telemetry
