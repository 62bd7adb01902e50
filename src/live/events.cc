#include "live/events.h"

#include "base/json.h"

namespace agent_graph::live {
namespace {

std::string Begin(std::string_view type) {
  std::string event = "{\"type\":\"";
  event += type;
  event.push_back('"');
  return event;
}

void AddText(std::string& event, std::string_view key, std::string_view text) {
  event += ",\"";
  event += key;
  event += "\":";
  AppendJsonString(event, text);
}

void AddJson(std::string& event, std::string_view key, std::string_view json) {
  event += ",\"";
  event += key;
  event += "\":";
  event += json;
}

std::string_view Truth(bool value) {
  return value ? "true" : "false";
}

std::string End(std::string event) {
  event.push_back('}');
  return event;
}

std::string TranscriptEvent(std::string_view type, std::string_view text, bool finished) {
  std::string event = Begin(type);
  AddText(event, "text", text);
  AddJson(event, "finished", Truth(finished));
  return End(std::move(event));
}

}  // namespace

std::string InputTranscriptEvent(std::string_view text, bool finished) {
  return TranscriptEvent("input_transcript", text, finished);
}

std::string OutputTranscriptEvent(std::string_view text, bool finished) {
  return TranscriptEvent("output_transcript", text, finished);
}

std::string ToolCallEvent(std::string_view id, std::string_view name, std::string_view args_json) {
  std::string event = Begin("tool_call");
  AddText(event, "id", id);
  AddText(event, "name", name);
  AddJson(event, "args", args_json);
  return End(std::move(event));
}

std::string ToolResultEvent(std::string_view id, std::string_view output_json) {
  std::string event = Begin("tool_result");
  AddText(event, "id", id);
  AddJson(event, "result", "{\"result\":" + std::string(output_json) + "}");
  return End(std::move(event));
}

std::string TurnCompleteEvent() {
  return End(Begin("turn_complete"));
}

std::string InterruptedEvent() {
  return End(Begin("interrupted"));
}

std::string SessionUpdateEvent(std::string_view resumption_handle) {
  std::string event = Begin("session_update");
  AddText(event, "resumption_handle", resumption_handle);
  return End(std::move(event));
}

std::string GoAwayEvent(std::string_view time_left) {
  std::string event = Begin("go_away");
  AddText(event, "time_left", time_left);
  return End(std::move(event));
}

std::string AgentChangedEvent(std::string_view author) {
  std::string event = Begin("agent_changed");
  AddText(event, "author", author);
  return End(std::move(event));
}

std::string ErrorEvent(std::string_view code, std::string_view message, bool fatal) {
  std::string event = Begin("error");
  if (code.empty()) {
    AddJson(event, "code", "null");
  } else {
    AddText(event, "code", code);
  }
  AddText(event, "message", message);
  AddJson(event, "fatal", Truth(fatal));
  return End(std::move(event));
}

}  // namespace agent_graph::live
