#include "run/log/trace.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "run/log/log_entry.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

constexpr int64_t kMicrosPerMillisecond = 1000;

std::string Joined(const std::vector<std::string>& names) {
  return JoinNames(std::vector<std::string_view>(names.begin(), names.end()), ", ");
}

// Builds the trace of one run from its entries.
class RunTrace {
 public:
  RunTrace(std::string thread_id, std::string run_id, int64_t started_micros)
      : thread_id_(std::move(thread_id)), run_id_(std::move(run_id)), started_(started_micros) {}

  void Take(const state::LogEntry& stored) {
    const std::optional<EntryBody> body = Decode(stored);
    if (!body) return;
    const auto* finished = std::get_if<entry::RunFinished>(&*body);
    // The end of an earlier run, which died before it wrote an entry.
    if (finished != nullptr && finished->run_id != run_id_) return;
    last_ = std::max(last_, Offset(stored.micros));
    const size_t parent = SpanOf(*body);
    if (finished != nullptr) return TakeEnd(*finished, stored.micros);
    if (const entry::CallRef* call = CallOf(*body)) return TakeCall(*call, parent);
    std::visit([&](const auto& entry) { TakeEntry(entry, parent); }, *body);
  }

  json Finish(bool in_flight) && {
    AddUnstoredCalls();
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

  // A model call whose message is not stored: a summary, or a reply that sets a field.
  struct UnstoredCall {
    size_t parent = kRoot;
    double ended_ms = 0;
    entry::ModelFinished::Reply reply;
  };

  double Offset(int64_t micros) const {
    const int64_t offset = std::max<int64_t>(micros - started_, 0);
    return static_cast<double>(offset) / kMicrosPerMillisecond;
  }

  // Returns the span to which an entry belongs. Interrupts, and errors of nodes that never started,
  // belong to the root, so that no span is opened for a node that has not run. The span of a node
  // that failed lasts until the error.
  size_t SpanOf(const EntryBody& body) {
    const std::string node = NodeOf(body);
    if (node.empty() || std::holds_alternative<entry::Interrupted>(body)) return kRoot;
    // This entry is stored before its node starts.
    if (std::holds_alternative<entry::ModelStarted>(body)) return kRoot;
    if (std::holds_alternative<entry::RunFailed>(body) && !nodes_.contains(node)) return kRoot;
    return NodeSpan(node);
  }

  // One span for all visits of a node, from the start of the first to the end of the last.
  size_t NodeSpan(const std::string& node) {
    auto [found, added] = nodes_.emplace(node, spans_.size());
    if (added) spans_.push_back({"node: " + node, "node", kRoot, last_, last_, {}, 0, 0});
    spans_[found->second].end_ms = last_;
    return found->second;
  }

  // Other entries only lengthen the span of their node.
  template <typename Entry>
  void TakeEntry(const Entry&, size_t /*parent*/) {}

  void TakeEntry(const entry::AttemptStarted& started, size_t /*parent*/) {
    AddEvent("updates", "", "attempt " + std::to_string(started.attempt));
  }

  void TakeEntry(const entry::NodeFinished& finished, size_t /*parent*/) {
    AddUnstoredCalls();
    AddEvent("updates", finished.node, "step " + std::to_string(finished.step));
  }

  void TakeEntry(const entry::Interrupted& interrupted, size_t /*parent*/) {
    AddEvent("updates", interrupted.node, "interrupted: " + interrupted.reason);
  }

  void TakeEntry(const entry::RunFailed& failed, size_t /*parent*/) {
    AddEvent("error", failed.node, failed.reason);
  }

  void TakeEntry(const entry::StateUpdate& update, size_t /*parent*/) {
    std::vector<std::string> names;
    names.reserve(update.updates.size() + 1);
    for (const FieldUpdate& field : update.updates) names.push_back(field.name);
    if (update.summary) names.emplace_back("summary");
    AddEvent("state", update.node, Joined(names));
  }

  // The message, which has the usage as well, is stored later, if at all.
  void TakeEntry(const entry::ModelFinished& finished, size_t parent) {
    if (finished.reply && finished.reply->input_tokens + finished.reply->output_tokens > 0) {
      unstored_calls_.push_back({parent, last_, *finished.reply});
    }
  }

  void AddUnstoredCalls() {
    for (const UnstoredCall& call : std::exchange(unstored_calls_, {})) {
      const entry::ModelFinished::Reply& reply = call.reply;
      CountModelCall(
          {.prompt_tokens = reply.input_tokens, .completion_tokens = reply.output_tokens});
      spans_.push_back({"llm.generate", "llm", call.parent, call.ended_ms, call.ended_ms,
                        reply.model, reply.input_tokens, reply.output_tokens});
    }
  }

  void TakeEntry(const entry::MessageAdded& message, size_t parent) {
    std::string summary;
    if (message.usage) {
      std::erase_if(unstored_calls_, [&](const UnstoredCall& call) {
        return call.reply.message_id == message.message_id;
      });
      const int64_t total = CountModelCall(*message.usage);
      spans_.push_back({"llm.generate", "llm", parent, last_, last_, message.model.value_or(""),
                        message.usage->prompt_tokens, message.usage->completion_tokens});
      summary = "llm.generate · " + std::to_string(total) + " tokens";
    }
    const std::string blocks = Joined(message.blocks);
    if (!message.tools.empty()) {
      summary = "tool_call " + Joined(message.tools);
    } else if (blocks.find("tool_result") != std::string::npos) {
      summary = "tool_result";
    } else if (summary.empty()) {
      summary = message.role + ": " + blocks;
    }
    AddEvent("message", message.node, summary);
  }

  // Returns the total of the call's tokens.
  int64_t CountModelCall(const Usage& usage) {
    int64_t total = usage.total_tokens;
    if (total == 0) total = usage.prompt_tokens + usage.completion_tokens;
    prompt_ += usage.prompt_tokens;
    completion_ += usage.completion_tokens;
    reasoning_ += usage.reasoning_tokens;
    total_ += total;
    ++llm_calls_;
    return total;
  }

  // Intent, start and end of a call form one span.
  void TakeCall(const entry::CallRef& call, size_t parent) {
    if (!calls_.insert({call.call_id, spans_.size()}).second) return;
    ++tool_calls_;
    spans_.push_back({"tool: " + call.tool, "tool", parent, last_, last_, {}, 0, 0});
  }

  void TakeEnd(const entry::RunFinished& finished, int64_t micros) {
    // A paused run counts as done.
    const bool paused = finished.status == RunStatus::kInterrupted;
    status_ = RunStatusName(paused ? RunStatus::kDone : finished.status);
    finished_ = micros;
    AddEvent("result", "", RunStatusName(finished.status));
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
  std::vector<UnstoredCall> unstored_calls_;
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
