#include "run/nodes/tool_call.h"

#include "base/json.h"
#include "base/sha256.h"

namespace agent_graph::run {
namespace {

constexpr size_t kIdempotencyKeyDigits = 32;

entry::CallRef RefOf(const std::string& node, const PendingCall& call) {
  return {.node = node, .tool = call.block.name, .call_id = call.block.id};
}

entry::CallTime TimeOf(const PendingCall& call) {
  return {.finished_micros = call.finished_micros,
          .duration_micros = call.finished_micros - call.started_micros};
}

}  // namespace

// A digest, because clients choose ids: keys are sent in headers, and no thread must be able to
// produce the key of another.
std::string IdempotencyKey(const std::string& thread_id, const std::string& message_id,
                           size_t index) {
  const std::string place = thread_id + '\0' + message_id + '\0' + std::to_string(index);
  return Sha256Hex(place).substr(0, kIdempotencyKeyDigits);
}

ToolOutput Failure(const std::string& text) {
  ToolOutput output;
  output.json = "{\"error\":";
  AppendJsonString(output.json, text);
  output.json.push_back('}');
  output.is_error = true;
  return output;
}

entry::ToolIntent IntentEntry(const std::string& node, const PendingCall& call) {
  return {.call = RefOf(node, call),
          .idempotency_key = call.idempotency_key,
          .remote = call.remote,
          .idempotent = !call.remote && call.tool->idempotent};
}

entry::ToolStarted StartedEntry(const std::string& node, const PendingCall& call) {
  return {.call = RefOf(node, call), .micros = call.started_micros};
}

entry::ToolFinished FinishedEntry(const std::string& node, const PendingCall& call,
                                  bool with_output) {
  entry::ToolFinished finished{.call = RefOf(node, call), .is_error = call.result.is_error};
  if (call.started_micros > 0) {
    finished.time = TimeOf(call);
    if (with_output) finished.output_json = call.result.json;
  }
  return finished;
}

entry::ToolPaused PausedEntry(const std::string& node, const PendingCall& call) {
  return {.call = RefOf(node, call),
          .time = TimeOf(call),
          .questions = static_cast<int64_t>(call.asks->pause.questions.size())};
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
