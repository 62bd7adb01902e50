#include "run/nodes/tool_call.h"

#include "base/json.h"

namespace agent_graph::run {
namespace {

std::string CallJson(const std::string& node_name, const PendingCall& call) {
  std::string out = "{\"node\":";
  AppendJsonString(out, node_name);
  out += ",\"tool\":";
  AppendJsonString(out, call.block.name);
  out += ",\"call_id\":";
  AppendJsonString(out, call.block.id);
  return out;
}

}  // namespace

ToolOutput Failure(const std::string& text) {
  ToolOutput output;
  output.json = "{\"error\":";
  AppendJsonString(output.json, text);
  output.json.push_back('}');
  output.is_error = true;
  return output;
}

std::string IntentJson(const std::string& node_name, const PendingCall& call) {
  std::string out = CallJson(node_name, call) + ",\"idempotency_key\":";
  AppendJsonString(out, call.idempotency_key);
  if (call.remote) return out + ",\"remote\":true}";
  out += call.tool->idempotent ? ",\"idempotent\":true}" : ",\"idempotent\":false}";
  return out;
}

std::string StartedJson(const std::string& node_name, const PendingCall& call) {
  return CallJson(node_name, call) + ",\"micros\":" + std::to_string(call.started_micros) + "}";
}

std::string FinishedJson(const std::string& node_name, const PendingCall& call, bool with_output) {
  std::string out = CallJson(node_name, call);
  out += call.result.is_error ? ",\"is_error\":true" : ",\"is_error\":false";
  if (call.started_micros > 0) {
    out += ",\"micros\":" + std::to_string(call.finished_micros);
    out += ",\"duration_micros\":" + std::to_string(call.finished_micros - call.started_micros);
    // Recovery needs the output until the message that contains it is written.
    if (with_output) out += ",\"output\":" + call.result.json;
  }
  out.push_back('}');
  return out;
}

std::string PausedJson(const std::string& node_name, const PendingCall& call) {
  std::string out = CallJson(node_name, call);
  out += ",\"micros\":" + std::to_string(call.finished_micros);
  out += ",\"duration_micros\":" + std::to_string(call.finished_micros - call.started_micros);
  return out + ",\"questions\":" + std::to_string(call.asks->pause.questions.size()) + "}";
}

Message ResultMessage(const PendingCall& call) {
  Message message = Message::ToolResult(call.block.id, call.result.json, call.result.is_error);
  message.metadata_json = "{\"tool_name\":";
  AppendJsonString(message.metadata_json, call.block.name);
  message.metadata_json.push_back('}');
  return message;
}

Message RemoteCallMessage(const PendingCall& call) {
  Message message;
  message.role = Role::kTool;
  message.content.emplace_back(
      ToolCallBlock{call.block.id, call.block.name, call.block.arguments_json, true});
  message.metadata_json = "{\"is_remote\":true,\"tool_name\":";
  AppendJsonString(message.metadata_json, call.block.name);
  message.metadata_json.push_back('}');
  return message;
}

}  // namespace agent_graph::run
