#include "run/context/agent_state.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_array.h"

namespace agent_graph::run {
namespace {

// Removes the first value from JSON text and returns it. The text was written by this program: it
// has no blanks, and the value is followed by a comma, a colon or the end of its container.
std::string_view TakeValue(std::string_view& text) {
  size_t depth = 0;
  bool in_string = false;
  size_t end = 0;
  for (bool complete = false; end < text.size() && !complete; ++end) {
    const char c = text[end];
    if (in_string) {
      if (c == '\\') ++end;
      in_string = c != '"';
      complete = !in_string && depth == 0;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']' || c == ',' || c == ':') {
      if (depth == 0) break;  // the end of a number or a literal
      complete = (c == '}' || c == ']') && --depth == 0;
    }
  }
  const std::string_view value = text.substr(0, std::min(end, text.size()));
  text.remove_prefix(value.size());
  return value;
}

// Copies the members as text: parsed values of large fields would take many times their size.
void AppendCustomFields(std::string& out, std::string_view fields_json) {
  if (!fields_json.starts_with('{')) return;
  fields_json.remove_prefix(1);
  while (fields_json.starts_with('"')) {
    const std::string_view name = TakeValue(fields_json);
    if (name.size() < 2 || !fields_json.starts_with(':')) return;
    fields_json.remove_prefix(1);
    const std::string_view value = TakeValue(fields_json);
    if (!IsReservedField(name.substr(1, name.size() - 2))) {
      out.push_back(',');
      out.append(name).push_back(':');
      out += value;
    }
    if (fields_json.starts_with(',')) fields_json.remove_prefix(1);
  }
}

}  // namespace

bool IsReservedField(std::string_view name) {
  return name == "context" || name == "context_summary" || name == "execution_meta";
}

std::string WriteAgentState(const AgentStateParts& parts) {
  size_t size = 512 + parts.fields_json.size();
  for (std::string_view message : parts.messages) size += message.size() + 1;
  std::string out;
  out.reserve(size);
  out += "{\"context\":";
  AppendJsonArray(out, parts.messages,
                  [](std::string& array, std::string_view message) { array += message; });
  out += ",\"context_summary\":";
  if (parts.summary != nullptr && parts.summary->has_value()) {
    AppendJsonString(out, **parts.summary);
  } else {
    out += "null";
  }
  out += ",\"execution_meta\":";
  AppendExecutionMeta(out, *parts.execution, parts.flags, parts.thread_id);
  AppendCustomFields(out, parts.fields_json);
  out.push_back('}');
  return out;
}

std::string AgentStateJson(const state::ThreadState& state) {
  ExecutionMeta execution = ExecutionMeta::FromJson(state.snapshot.execution_json);
  AgentStateParts parts;
  if (state.in_flight) {
    execution.current_node = state.in_flight->current_node;
    if (execution.current_node.empty()) execution.current_node = "START";
    execution.step = state.in_flight->step;
    parts.flags = {true, state.in_flight->stop_requested, state.in_flight->queued_runs};
  }
  parts.thread_id = state.record.thread_id;
  parts.messages.reserve(state.window.size());
  for (const state::StoredMessage& message : state.window) parts.messages.push_back(message.json);
  parts.summary = &state.snapshot.summary;
  parts.fields_json = state.snapshot.fields_json;
  parts.execution = &execution;
  return WriteAgentState(parts);
}

}  // namespace agent_graph::run
