#include "telemetry/run_spans.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/letter_case.h"
#include "run/log/log_entry.h"
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
                       {"agent_graph.run.status", std::string(run::RunStatusName(record.status))}};
  }

  void Take(const state::LogEntry& stored) {
    const std::optional<run::EntryBody> body = run::Decode(stored);
    if (!body) return;
    std::visit([&](const auto& entry) { TakeEntry(entry, stored.micros); }, *body);
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

  // Other entries form no span.
  template <typename Entry>
  void TakeEntry(const Entry&, int64_t /*micros*/) {}

  void TakeEntry(const run::entry::NodeStarted& started, int64_t micros) {
    Span& span = Add("node " + started.node, spans_[kRoot].span_id, micros);
    span.attributes = {{"agent_graph.node.name", started.node},
                       {"agent_graph.node.step", started.step}};
    node_ = spans_.size() - 1;
  }

  void TakeEntry(const run::entry::NodeFinished&, int64_t micros) {
    if (node_ != kRoot) spans_[node_].end_micros = micros;
    node_ = kRoot;
  }

  void TakeEntry(const run::entry::RunFailed& failed, int64_t /*micros*/) {
    Fail(spans_[node_], failed.code, failed.reason);
    Fail(spans_[kRoot], failed.code, failed.reason);
  }

  Span& AddModelCall(const std::string& model_name, int64_t duration_micros, int64_t end_micros) {
    const auto identity = models_.find(model_name);
    const std::string asked = identity == models_.end() || identity->second.model.empty()
                                  ? model_name
                                  : identity->second.model;
    const std::string parent = spans_[node_].span_id;
    Span& span = Add("chat " + asked, parent, end_micros - duration_micros);
    span.kind = SpanKind::kClient;
    span.end_micros = end_micros;
    span.attributes = {{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", asked}};
    if (identity != models_.end()) {
      span.attributes.emplace_back("gen_ai.provider.name", identity->second.provider);
    }
    return span;
  }

  void TakeEntry(const run::entry::ModelFailed& failed, int64_t micros) {
    Fail(AddModelCall(failed.model_name, failed.duration_micros, micros), failed.code,
         failed.reason);
  }

  void TakeEntry(const run::entry::ModelFinished& finished, int64_t micros) {
    Span& span = AddModelCall(finished.model_name, finished.duration_micros, micros);
    const auto reply = finished.reply.value_or(run::entry::ModelFinished::Reply());
    if (!reply.model.empty()) span.attributes.emplace_back("gen_ai.response.model", reply.model);
    span.attributes.emplace_back("gen_ai.response.finish_reasons",
                                 std::vector<std::string>{finished.stop_reason});
    // Zero: the provider did not report usage.
    if (reply.input_tokens + reply.output_tokens == 0) return;
    span.attributes.emplace_back("gen_ai.usage.input_tokens", reply.input_tokens);
    span.attributes.emplace_back("gen_ai.usage.output_tokens", reply.output_tokens);
    input_tokens_ += reply.input_tokens;
    output_tokens_ += reply.output_tokens;
  }

  // Entries of tool calls are written after all calls have ended; each contains its own start and
  // end time.
  void TakeEntry(const run::entry::ToolStarted& started, int64_t micros) {
    const std::string parent = spans_[node_].span_id;
    Span& span = Add("execute_tool " + started.call.tool, parent,
                     started.micros > 0 ? started.micros : micros);
    span.attributes = {{"gen_ai.operation.name", "execute_tool"},
                       {"gen_ai.tool.name", started.call.tool},
                       {"gen_ai.tool.call.id", started.call.call_id},
                       {"gen_ai.tool.type", "function"}};
    tools_[started.call.call_id] = spans_.size() - 1;
  }

  void TakeEntry(const run::entry::ToolFinished& finished, int64_t micros) {
    const int64_t ended = finished.time ? finished.time->finished_micros : 0;
    EndTool(finished.call, ended > 0 ? ended : micros, finished.is_error);
  }

  void TakeEntry(const run::entry::ToolPaused& paused, int64_t micros) {
    const int64_t ended = paused.time.finished_micros;
    EndTool(paused.call, ended > 0 ? ended : micros, /*failed=*/false);
  }

  void EndTool(const run::entry::CallRef& call, int64_t end_micros, bool failed) {
    const auto found = tools_.find(call.call_id);
    if (found == tools_.end()) return;
    Span& span = spans_[found->second];
    span.end_micros = end_micros;
    if (failed) Fail(span, "tool_error", "the tool failed");
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
