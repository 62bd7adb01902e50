#include "run/context/execution_meta.h"

#include "agent_graph/json.h"
#include "base/json_array.h"
#include "base/own_json.h"

namespace agent_graph::run {
namespace {

void AppendTextOrNull(std::string& out, std::string_view text) {
  if (text.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, text);
  }
}

std::string TextAt(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool FlagAt(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

ExecutionMeta::Phase ParsePhase(std::string_view name) {
  using Phase = ExecutionMeta::Phase;
  for (Phase phase : {Phase::kInterruptedBefore, Phase::kInterruptedAfter, Phase::kError}) {
    if (name == PhaseName(phase)) return phase;
  }
  return Phase::kCompleted;
}

}  // namespace

const char* PhaseName(ExecutionMeta::Phase phase) {
  switch (phase) {
    case ExecutionMeta::Phase::kCompleted:
      return "completed";
    case ExecutionMeta::Phase::kInterruptedBefore:
      return "interrupted_before";
    case ExecutionMeta::Phase::kInterruptedAfter:
      return "interrupted_after";
    case ExecutionMeta::Phase::kError:
      return "error";
  }
  return "completed";
}

std::string ExecutionMeta::ToJson() const {
  std::string out;
  out.reserve(96);
  out += "{\"current_node\":";
  AppendJsonString(out, current_node);
  out += ",\"step\":";
  out += std::to_string(step);
  out += ",\"status\":\"";
  out += PhaseName(phase);
  out += '"';
  if (interrupted()) {
    out += ",\"interrupted_node\":";
    AppendJsonString(out, interrupted_node);
    out += ",\"interrupt_reason\":";
    AppendJsonString(out, interrupt_reason);
    out += ",\"interrupt_data\":" + interrupt_data_json + ",\"resume_node\":";
    AppendJsonString(out, resume_node);
    if (!inputs_json.empty()) out += ",\"inputs\":" + inputs_json;
    if (unexecuted_resume) out += ",\"unexecuted_resume\":true";
  }
  if (stopped) out += ",\"stopped\":true";
  if (!error.empty()) {
    out += ",\"error\":";
    AppendJsonString(out, error);
  }
  out.push_back('}');
  return out;
}

ExecutionMeta ExecutionMeta::FromJson(std::string_view text) {
  ExecutionMeta meta;
  if (text.empty() || text == "{}") return meta;
  Result<json> parsed = ParseJson(text, kOwnJsonLimits);
  if (!parsed.ok() || !parsed->is_object()) return meta;
  const json& object = *parsed;
  if (std::string node = TextAt(object, "current_node"); !node.empty()) meta.current_node = node;
  if (auto step = object.find("step"); step != object.end() && step->is_number_integer()) {
    meta.step = step->get<int64_t>();
  }
  meta.phase = ParsePhase(TextAt(object, "status"));
  if (meta.interrupted()) {
    meta.interrupted_node = TextAt(object, "interrupted_node");
    meta.interrupt_reason = TextAt(object, "interrupt_reason");
    meta.resume_node = TextAt(object, "resume_node");
    if (auto data = object.find("interrupt_data"); data != object.end()) {
      meta.interrupt_data_json = DumpJson(*data);
    }
    if (auto inputs = object.find("inputs"); inputs != object.end()) {
      meta.inputs_json = DumpJson(*inputs);
    }
    meta.unexecuted_resume = FlagAt(object, "unexecuted_resume");
  }
  meta.stopped = FlagAt(object, "stopped");
  if (meta.phase == Phase::kError) {
    meta.error = TextAt(object, "error");
    // If the worker died, the state server ended the run; its entry has only a reason.
    if (meta.error.empty()) meta.error = TextAt(object, "reason");
  }
  return meta;
}

std::string InterruptJson(const ExecutionMeta& meta) {
  std::string out = "{\"node\":";
  AppendJsonString(out, meta.interrupted_node);
  out += ",\"reason\":";
  AppendJsonString(out, meta.interrupt_reason);
  out += ",\"status\":\"";
  out += PhaseName(meta.phase);
  out.push_back('"');
  if (meta.interrupt_data_json != "null") out += ",\"data\":" + meta.interrupt_data_json;
  out.push_back('}');
  return out;
}

void AppendExecutionMeta(std::string& out, const ExecutionMeta& meta, const LiveFlags& flags,
                         std::string_view thread_id) {
  const bool paused = meta.interrupted() && !flags.running;
  const char* stop = flags.running && flags.stop_requested ? "stop_requested"
                     : meta.stopped && !flags.running      ? "stopped"
                                                           : "none";
  out += "{\"current_node\":";
  AppendJsonString(out, meta.current_node);
  out += ",\"step\":" + std::to_string(meta.step) + ",\"status\":\"";
  out += flags.running ? "running" : PhaseName(meta.phase);
  out += flags.running ? "\",\"is_running\":true" : "\",\"is_running\":false";
  out += paused ? ",\"is_interrupted\":true" : ",\"is_interrupted\":false";
  out += flags.running && flags.stop_requested ? ",\"is_stopped_requested\":true"
                                               : ",\"is_stopped_requested\":false";
  if (paused) {
    out += ",\"interrupt\":" + InterruptJson(meta);
  }
  out += ",\"queued_runs\":";
  AppendJsonArray(out, flags.queued_runs, AppendJsonString);
  out += ",\"interrupted_node\":";
  AppendTextOrNull(out, paused ? meta.interrupted_node : "");
  out += ",\"interrupt_reason\":";
  AppendTextOrNull(out, paused ? meta.interrupt_reason : "");
  out += ",\"interrupt_data\":" + (paused ? meta.interrupt_data_json : std::string("null"));
  out += ",\"thread_id\":";
  AppendJsonString(out, thread_id);
  out += ",\"stop_current_execution\":\"";
  out += stop;
  out += "\",\"internal_data\":{";
  if (meta.phase == ExecutionMeta::Phase::kError && !flags.running) {
    out += "\"error\":";
    AppendJsonString(out, meta.error);
  }
  out += "}}";
}

}  // namespace agent_graph::run
