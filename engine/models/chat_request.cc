#include "models/chat_request.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "message/texts.h"
#include "models/call_options.h"
#include "models/media.h"
#include "models/parameters.h"
#include "models/tool_json.h"
#include "models/tool_output.h"
#include "models/turns.h"

namespace agent_graph::models {
namespace {

std::string DataUrl(const MediaReference& media, const char* default_type) {
  return "data:" + (media.mime_type.empty() ? default_type : media.mime_type) + ";base64," +
         media.data_base64;
}

// "wav" for "audio/x-wav", "mp3" for "audio/mpeg".
std::string AudioFormat(const std::string& mime_type) {
  std::string format = mime_type.substr(mime_type.find('/') + 1);
  if (format.starts_with("x-")) format.erase(0, 2);
  if (format == "mpeg") return "mp3";
  return format.empty() ? "wav" : format;
}

json ChatTextPart(std::string text) {
  return {{"type", "text"}, {"text", std::move(text)}};
}

json ChatMediaPart(const MediaBlock& block) {
  const MediaReference& media = block.media;
  const bool inline_data = media.kind == MediaReference::Kind::kData;
  switch (block.type) {
    case MediaBlock::Type::kImage:
      if (media.kind == MediaReference::Kind::kFileId) break;
      return {{"type", "image_url"},
              {"image_url", {{"url", inline_data ? DataUrl(media, "image/png") : media.url}}}};
    case MediaBlock::Type::kAudio:
      if (!inline_data) break;
      return {
          {"type", "input_audio"},
          {"input_audio", {{"data", media.data_base64}, {"format", AudioFormat(media.mime_type)}}}};
    case MediaBlock::Type::kDocument:
      if (!inline_data) break;
      return {{"type", "file"},
              {"file",
               {{"filename", media.filename.empty() ? "document" : media.filename},
                {"file_data", DataUrl(media, "application/octet-stream")}}}};
    case MediaBlock::Type::kVideo:
      break;
  }
  return ChatTextPart(PlaceholderText(media));
}

// Content of texts only. One text becomes a string, which every server accepts; several become an
// array of parts; none becomes null.
json TextContent(const Message& message) {
  const std::vector<std::string_view> texts = message::Texts(message);
  if (texts.empty()) return nullptr;
  if (texts.size() == 1) return texts[0];
  json parts = json::array();
  for (const std::string_view text : texts) parts.push_back(ChatTextPart(std::string(text)));
  return parts;
}

// The same with files: always an array.
json Content(const Message& message) {
  json parts = json::array();
  bool only_text = true;
  for (const ContentBlock& block : message.content) {
    if (const auto* text = std::get_if<TextBlock>(&block)) {
      if (!text->text.empty()) parts.push_back(ChatTextPart(text->text));
    } else if (const auto* media = std::get_if<MediaBlock>(&block)) {
      parts.push_back(ChatMediaPart(*media));
      only_text = false;
    }
  }
  return only_text ? TextContent(message) : parts;
}

json AssistantMessage(const Message& message) {
  json out = {{"role", "assistant"}};
  json calls = json::array();
  for (const ToolCallBlock* call : message.ToolCalls()) {
    calls.push_back({{"id", call->id},
                     {"type", "function"},
                     {"function", {{"name", call->name}, {"arguments", call->arguments_json}}}});
  }
  out["content"] = TextContent(message);
  if (out["content"].is_null() && calls.empty()) out["content"] = "";
  if (!calls.empty()) out["tool_calls"] = std::move(calls);
  return out;
}

void AppendMessage(json& out, const Message& message) {
  if (message.role == Role::kAssistant) {
    out.push_back(AssistantMessage(message));
    return;
  }
  for (const ToolResultBlock* result : message.ToolResults()) {
    out.push_back({{"role", "tool"},
                   {"tool_call_id", result->call_id},
                   {"content", ToolOutputText(*result)}});
  }
  if (message.role == Role::kTool) return;
  json content = Content(message);
  if (content.is_null()) {
    if (!message.ToolResults().empty()) return;
    content = "";
  }
  out.push_back({{"role", RoleName(message.role)}, {"content", std::move(content)}});
}

Result<json> ToolList(const std::vector<ToolDeclaration>& tools) {
  json list = json::array();
  for (const ToolDeclaration& tool : tools) {
    AG_ASSIGN_OR_RETURN(json schema, ToolSchema(tool));
    list.push_back({{"type", "function"},
                    {"function",
                     {{"name", tool.name},
                      {"description", tool.description},
                      {"parameters", std::move(schema)}}}});
  }
  return list;
}

constexpr std::array<std::string_view, 8> kChatCallParameters = {
    "temperature",       "top_p",           "max_tokens", "stop", "seed", "presence_penalty",
    "frequency_penalty", "reasoning_effort"};

json ChatFormat(const CallOptions::Format& format, const json& schema) {
  if (format.kind == CallOptions::Format::Kind::kJsonObject) return {{"type", "json_object"}};
  json described = {{"name", format.name}, {"schema", schema}};
  if (format.strict) described["strict"] = *format.strict;
  return {{"type", "json_schema"}, {"json_schema", std::move(described)}};
}

// Sets the options that are not parameters of the model: tool choice, output format and the like.
Status SetChatOptions(const ModelRequest& request, json& body) {
  const CallOptions* options = request.options;
  if (options == nullptr) return Status::Ok();
  if (!request.tools.empty()) {
    if (options->parallel_tool_calls) body["parallel_tool_calls"] = *options->parallel_tool_calls;
    if (request.forces_tool) {
      const bool is_named = options->tool_choice == CallOptions::ToolChoice::kNamed;
      body["tool_choice"] =
          is_named ? json({{"type", "function"}, {"function", {{"name", options->tool_name}}}})
                   : json("required");
    }
  }
  if (!options->format) return Status::Ok();
  const std::string& text = options->format->schema_json;
  AG_ASSIGN_OR_RETURN(const json schema, ParseJson(text.empty() ? "{}" : text));
  body["response_format"] = ChatFormat(*options->format, schema);
  return Status::Ok();
}

// A model that is configured with the newer name of the limit does not know the older one.
void NameTokenLimit(json& body) {
  const auto newer = body.find("max_completion_tokens");
  const auto older = body.find("max_tokens");
  if (newer == body.end() || older == body.end()) return;
  if (!newer->is_number() || *older < *newer) *newer = *older;
  body.erase("max_tokens");
}

}  // namespace

Result<std::string> ChatRequestJson(const ModelRequest& request, const std::string& default_model,
                                    const std::string& parameters_json) {
  json defaults = {{"stream", true}, {"stream_options", {{"include_usage", true}}}};
  const std::string& model = request.model.empty() ? default_model : request.model;
  if (!model.empty()) defaults["model"] = model;
  AG_ASSIGN_OR_RETURN(json body,
                      MergeParameters(defaults, parameters_json, request.parameters_json));
  AG_RETURN_IF_ERROR(SetCallParameters(request, kChatCallParameters, body));
  if (request.options != nullptr) NameTokenLimit(body);
  AG_RETURN_IF_ERROR(SetChatOptions(request, body));
  if (body.value("stream", json()) != true) body.erase("stream_options");

  json messages = json::array();
  if (!request.system_prompt.empty()) {
    messages.push_back({{"role", "system"}, {"content", request.system_prompt}});
  }
  for (const Message& message : request.messages) AppendMessage(messages, message);
  if (messages.empty()) return NothingToAnswer();
  body["messages"] = std::move(messages);
  if (!request.tools.empty()) {
    AG_ASSIGN_OR_RETURN(body["tools"], ToolList(request.tools));
  }
  return DumpJson(body);
}

}  // namespace agent_graph::models
