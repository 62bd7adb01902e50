#include "run/log/trace.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/own_json.h"

namespace agent_graph::run {
namespace {

constexpr int64_t kMicrosPerMillisecond = 1000;
constexpr double kMicrosPerSecond = 1e6;

std::string TextAt(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t IntegerAt(const json& object, const char* key, int64_t otherwise = 0) {
  auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

std::string Joined(const json& object, const char* key) {
  std::string text;
  auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return text;
  for (const json& item : *found) {
    if (!item.is_string()) continue;
    if (!text.empty()) text += ", ";
    text += item.get_ref<const std::string&>();
  }
  return text;
}

// Builds the trace of one run from its entries.
class RunTrace {
 public:
  RunTrace(std::string thread_id, std::string run_id, int64_t started_micros)
      : thread_id_(std::move(thread_id)), run_id_(std::move(run_id)), started_(started_micros) {}

  void Take(const state::LogEntry& entry) {
    Result<json> parsed = ParseJson(entry.json, kOwnJsonLimits);
    if (!parsed.ok() || !parsed->is_object()) return;
    const json& fields = *parsed;
    // The end of an earlier run, which died before it wrote an entry.
    if (entry.kind == "run_finished" && TextAt(fields, "run_id") != run_id_) return;
    last_ = std::max(last_, Offset(entry.micros));
    const std::string node = TextAt(fields, "node");
    const size_t parent = SpanOf(entry.kind, node);
    if (entry.kind == "message") {
      TakeMessage(fields, node, parent);
    } else if (entry.kind.starts_with("tool_")) {
      TakeTool(fields, parent);
    } else if (entry.kind == "node_finished") {
      AddEvent("updates", node, "step " + std::to_string(IntegerAt(fields, "step")));
    } else if (entry.kind == "state_update") {
      AddEvent("state", node, UpdatedFields(fields));
    } else if (entry.kind == "interrupted") {
      AddEvent("updates", node, "interrupted: " + TextAt(fields, "reason"));
    } else if (entry.kind == "error") {
      AddEvent("error", node, TextAt(fields, "reason"));
    } else if (entry.kind == "run_finished") {
      TakeEnd(fields, entry.micros);
    }
  }

  json Finish(bool in_flight) && {
    // A run that neither ended nor holds its lease is lost.
    if (status_.empty()) status_ = in_flight ? "running" : "error";
    std::reverse(events_.begin(), events_.end());
    json run;
    run["run_id"] = run_id_;
    run["thread_id"] = thread_id_;
    run["status"] = status_;
    run["started_at"] = static_cast<double>(started_) / kMicrosPerSecond;
    run["finished_at"] =
        finished_ > 0 ? json(static_cast<double>(finished_) / kMicrosPerSecond) : json();
    run["duration_ms"] = last_;
    run["spans"] = SpanArray();
    run["events"] = std::move(events_);
    run["usage"] = {{"prompt_tokens", prompt_},
                    {"completion_tokens", completion_},
                    {"reasoning_tokens", reasoning_},
                    {"total_tokens", total_}};
    run["llm_calls"] = llm_calls_;
    run["tool_calls"] = tool_calls_;
    run["iterations"] = nodes_.size();
    return run;
  }

 private:
  static constexpr size_t kRoot = 0;

  struct Span {
    std::string name;
    const char* kind = "root";
    size_t parent = kRoot;
    double start_ms = 0;
    double end_ms = 0;
    std::string model;  // for llm spans, with the token counts
    int64_t input_tokens = 0;
    int64_t output_tokens = 0;
  };

  double Offset(int64_t micros) const {
    const int64_t offset = std::max<int64_t>(micros - started_, 0);
    return static_cast<double>(offset) / kMicrosPerMillisecond;
  }

  // An interrupt may name a node that has not started, and an error one that never did. They open
  // no span, but a failed node's span lasts until the error.
  size_t SpanOf(const std::string& kind, const std::string& node) {
    if (node.empty() || kind == "interrupted") return kRoot;
    if (kind == "error" && !nodes_.contains(node)) return kRoot;
    return NodeSpan(node);
  }

  // One span for all visits of a node, from the start of the first to the end of the last.
  size_t NodeSpan(const std::string& node) {
    auto [found, added] = nodes_.emplace(node, spans_.size());
    if (added) spans_.push_back({"node: " + node, "node", kRoot, last_, last_, {}, 0, 0});
    spans_[found->second].end_ms = last_;
    return found->second;
  }

  void TakeMessage(const json& fields, const std::string& node, size_t parent) {
    const json usage = fields.value("usage", json());
    std::string summary;
    if (usage.is_object()) {
      const int64_t prompt = IntegerAt(usage, "prompt");
      const int64_t completion = IntegerAt(usage, "completion");
      int64_t total = IntegerAt(usage, "total");
      if (total == 0) total = prompt + completion;
      prompt_ += prompt;
      completion_ += completion;
      reasoning_ += IntegerAt(usage, "reasoning");
      total_ += total;
      ++llm_calls_;
      spans_.push_back({"llm.generate", "llm", parent, last_, last_, TextAt(fields, "model"),
                        prompt, completion});
      summary = "llm.generate · " + std::to_string(total) + " tokens";
    }
    const std::string tools = Joined(fields, "tools");
    const std::string blocks = Joined(fields, "blocks");
    if (!tools.empty()) {
      summary = "tool_call " + tools;
    } else if (blocks.find("tool_result") != std::string::npos) {
      summary = "tool_result";
    } else if (summary.empty()) {
      summary = TextAt(fields, "role") + ": " + blocks;
    }
    AddEvent("message", node, summary);
  }

  // Intent, start and end of a call form one span.
  void TakeTool(const json& fields, size_t parent) {
    const std::string call_id = TextAt(fields, "call_id");
    if (!calls_.insert({call_id, spans_.size()}).second) return;
    ++tool_calls_;
    spans_.push_back({"tool: " + TextAt(fields, "tool"), "tool", parent, last_, last_, {}, 0, 0});
  }

  void TakeEnd(const json& fields, int64_t micros) {
    const std::string status = TextAt(fields, "status");
    // A paused run counts as done.
    status_ = status == "error" || status == "stopped" ? status : "done";
    finished_ = micros;
    AddEvent("result", "", status);
  }

  static std::string UpdatedFields(const json& fields) {
    std::string text;
    auto updates = fields.find("updates");
    if (updates != fields.end() && updates->is_array()) {
      for (const json& update : *updates) {
        if (!text.empty()) text += ", ";
        if (update.is_object()) text += TextAt(update, "field");
      }
    }
    if (fields.contains("summary")) text += text.empty() ? "summary" : ", summary";
    return text;
  }

  void AddEvent(const char* type, const std::string& node, const std::string& summary) {
    events_.push_back({{"id", "e" + std::to_string(events_.size())},
                       {"type", type},
                       {"node", node},
                       {"offset_ms", last_},
                       {"summary", summary}});
  }

  json SpanArray() {
    spans_[kRoot].end_ms = last_;
    json array = json::array();
    for (size_t i = 0; i < spans_.size(); ++i) {
      const Span& span = spans_[i];
      const bool is_llm = span.kind == std::string_view("llm");
      const bool is_point = is_llm || span.kind == std::string_view("tool");
      array.push_back({{"id", SpanId(i)},
                       {"name", span.name},
                       {"kind", span.kind},
                       {"parent", i == kRoot ? json() : json(SpanId(span.parent))},
                       {"start_ms", span.start_ms},
                       {"duration_ms", is_point ? 0.0 : span.end_ms - span.start_ms},
                       {"model", is_llm ? json(span.model) : json()},
                       {"input_tokens", is_llm ? json(span.input_tokens) : json()},
                       {"output_tokens", is_llm ? json(span.output_tokens) : json()}});
    }
    return array;
  }

  static std::string SpanId(size_t index) {
    return index == kRoot ? "root" : "s" + std::to_string(index);
  }

  const std::string thread_id_;
  const std::string run_id_;
  const int64_t started_;
  int64_t finished_ = 0;
  double last_ = 0;  // offset of the newest entry
  std::string status_;
  std::vector<Span> spans_ = {{"graph", "root", kRoot, 0, 0, {}, 0, 0}};
  std::unordered_map<std::string, size_t> nodes_;  // name → span
  std::unordered_map<std::string, size_t> calls_;  // id → span
  std::vector<json> events_;
  int64_t prompt_ = 0;
  int64_t completion_ = 0;
  int64_t reasoning_ = 0;
  int64_t total_ = 0;
  int64_t llm_calls_ = 0;
  int64_t tool_calls_ = 0;
};

}  // namespace

std::string TraceJson(const std::string& thread_id, const state::RunTraces& traces) {
  json run;
  if (!traces.run_id.empty() && !traces.entries.empty()) {
    RunTrace trace(thread_id, traces.run_id, traces.entries.front().micros);
    for (const state::LogEntry& entry : traces.entries) trace.Take(entry);
    run = std::move(trace).Finish(traces.in_flight);
  }
  return DumpJson({{"thread_id", thread_id},
                   {"run_count", traces.run_ids.size()},
                   {"run_ids", traces.run_ids},
                   {"run", std::move(run)}});
}

}  // namespace agent_graph::run
