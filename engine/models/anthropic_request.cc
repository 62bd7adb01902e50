#include "models/anthropic_request.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"
#include "models/anthropic_signature.h"
#include "models/call_options.h"
#include "models/media.h"
#include "models/parameters.h"
#include "models/signature.h"
#include "models/system_text.h"
#include "models/tool_json.h"
#include "models/tool_output.h"
#include "models/turns.h"

namespace agent_graph::models {
namespace {

constexpr char kEmptyMessage[] = "[empty message]";

// Call ids of other providers may contain characters that Anthropic refuses.
std::string CallId(std::string id) {
  for (char& letter : id) {
    const bool fits = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                      (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
    if (!fits) letter = '_';
  }
  return id;
}

json AnthropicTextPart(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

// Anthropic refuses a whole request that has a blank text.
void AppendText(json& parts, const TextBlock& block) {
  if (!IsBlank(block.text)) parts.push_back(AnthropicTextPart(block.text));
}

json Base64Source(const InlineData& data) {
  return {{"type", "base64"}, {"media_type", data.mime_type}, {"data", data.base64}};
}

json ImagePart(const MediaBlock& block) {
  if (const std::optional<InlineData> data = InlineDataOf(block)) {
    return {{"type", "image"}, {"source", Base64Source(*data)}};
  }
  if (block.media.kind != MediaReference::Kind::kUrl)
    return AnthropicTextPart(PlaceholderText(block.media));
  return {{"type", "image"}, {"source", {{"type", "url"}, {"url", block.media.url}}}};
}

json DocumentPart(const MediaBlock& block) {
  const MediaReference& media = block.media;
  json source;
  if (const std::optional<InlineData> data = InlineDataOf(block)) {
    std::optional<std::string> text;
    if (data->mime_type.starts_with("text/")) text = DecodeBase64(data->base64);
    if (text) {
      source = {{"type", "text"}, {"media_type", "text/plain"}, {"data", *std::move(text)}};
    } else if (data->mime_type == "application/pdf") {
      source = Base64Source(*data);
    }
  } else if (media.kind == MediaReference::Kind::kUrl) {
    source = {{"type", "url"}, {"url", media.url}};
  }
  if (source.is_null()) return AnthropicTextPart(PlaceholderText(media));
  json part = {{"type", "document"}, {"source", std::move(source)}};
  if (!media.filename.empty()) part["title"] = media.filename;
  return part;
}

json AnthropicMediaPart(const MediaBlock& block) {
  if (block.type == MediaBlock::Type::kImage) return ImagePart(block);
  if (block.type == MediaBlock::Type::kDocument) return DocumentPart(block);
  return AnthropicTextPart(PlaceholderText(block.media));
}

// Only reasoning with a signature of Anthropic can be sent back.
void AppendReasoning(json& parts, const ReasoningBlock& block) {
  if (const auto signature = SignatureOf(kAnthropicThinking, block.signature)) {
    parts.push_back({{"type", "thinking"}, {"thinking", block.summary}, {"signature", *signature}});
  } else if (const auto data = SignatureOf(kAnthropicRedacted, block.signature)) {
    parts.push_back({{"type", "redacted_thinking"}, {"data", *data}});
  }
}

Status AppendCall(json& parts, const ToolCallBlock& call) {
  AG_ASSIGN_OR_RETURN(json input, CallArguments(call));
  parts.push_back({{"type", "tool_use"},
                   {"id", CallId(call.id)},
                   {"name", call.name},
                   {"input", std::move(input)}});
  return Status::Ok();
}

Result<json> AssistantParts(const Message& message) {
  json parts = json::array();
  for (const ContentBlock& block : message.content) {
    if (const auto* reasoning = std::get_if<ReasoningBlock>(&block)) {
      AppendReasoning(parts, *reasoning);
    } else if (const auto* text = std::get_if<TextBlock>(&block)) {
      AppendText(parts, *text);
    } else if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
      AG_RETURN_IF_ERROR(AppendCall(parts, *call));
    }
  }
  return parts;
}

// Results come first: no other part may be between a call and its result.
json UserParts(const Message& message) {
  json parts = json::array();
  for (const ToolResultBlock* result : message.ToolResults()) {
    std::string text = ToolValueText(*result);
    if (IsBlank(text)) text = result->output_json;  // the JSON string with its quotes
    json part = {{"type", "tool_result"},
                 {"tool_use_id", CallId(result->call_id)},
                 {"content", std::move(text)}};
    if (result->is_error) part["is_error"] = true;
    parts.push_back(std::move(part));
  }
  if (message.role == Role::kTool) return parts;
  for (const ContentBlock& block : message.content) {
    if (const auto* text = std::get_if<TextBlock>(&block)) {
      AppendText(parts, *text);
    } else if (const auto* media = std::get_if<MediaBlock>(&block)) {
      parts.push_back(AnthropicMediaPart(*media));
    }
  }
  // Without this part there might be no message at all, or none for the model to answer.
  if (parts.empty()) parts.push_back(AnthropicTextPart(kEmptyMessage));
  return parts;
}

Result<json> Turns(const ModelRequest& request) {
  json turns = json::array();
  for (const Message& message : request.messages) {
    if (message.role == Role::kSystem) continue;
    if (message.role == Role::kAssistant) {
      AG_ASSIGN_OR_RETURN(json parts, AssistantParts(message));
      AppendTurn(turns, "assistant", "content", std::move(parts));
    } else {
      AppendTurn(turns, "user", "content", UserParts(message));
    }
  }
  return turns;
}

Status AppendTools(json& body, const std::vector<ToolDeclaration>& tools) {
  if (tools.empty()) return Status::Ok();
  json& list = body["tools"];
  if (!list.is_array()) list = json::array();
  for (const ToolDeclaration& tool : tools) {
    AG_ASSIGN_OR_RETURN(json schema, ToolSchema(tool));
    list.push_back({{"name", tool.name},
                    {"description", tool.description},
                    {"input_schema", std::move(schema)}});
  }
  return Status::Ok();
}

// Translates the parameter names that graphs use for all providers.
void TranslateParameters(json& body) {
  if (const auto stop = body.find("stop"); stop != body.end()) {
    json sequences = stop->is_array() ? std::move(*stop) : json::array({std::move(*stop)});
    body.erase(stop);
    body["stop_sequences"] = std::move(sequences);
  }
}

constexpr int64_t kThinkingTokensMin = 1024;  // the API refuses a lower budget
constexpr std::array<std::string_view, 2> kLimits = {"max_tokens", "stop"};
constexpr std::array<std::string_view, 2> kSampling = {"temperature", "top_p"};

bool Thinks(const json& body) {
  const json thinking = body.value("thinking", json());
  return thinking.is_object() && thinking.value("type", json()) != "disabled";
}

int64_t ThinkingBudget(const json& body) {
  const json thinking = body.value("thinking", json());
  const json budget = thinking.is_object() ? thinking.value("budget_tokens", json()) : json();
  constexpr int64_t kMax = 1'000'000'000;
  return budget.is_number_integer() ? std::clamp<int64_t>(budget.get<int64_t>(), 0, kMax) : 0;
}

// The API refuses a limit of tokens that is not above the budget.
void FitThinking(int64_t max_tokens, json& body) {
  if (max_tokens > ThinkingBudget(body)) return;
  if (max_tokens / 2 < kThinkingTokensMin) {
    body.erase("thinking");
  } else {
    body["thinking"]["budget_tokens"] = max_tokens / 2;
  }
}

// The options of the request must not make the API refuse a model that thinks: it accepts neither a
// forced tool nor a temperature then.
Status SetAnthropicParameters(const ModelRequest& request, json& body) {
  if (request.options == nullptr) return Status::Ok();
  const json configured = body.value("max_tokens", json());
  AG_RETURN_IF_ERROR(SetCallParameters(request, kLimits, body));
  const json max_tokens = body.value("max_tokens", json());
  if (request.forces_tool && !request.tools.empty() && Thinks(body)) {
    body.erase("thinking");
  } else if (max_tokens != configured && max_tokens.is_number_integer()) {
    FitThinking(max_tokens.get<int64_t>(), body);
  }
  return Thinks(body) ? Status::Ok() : SetCallParameters(request, kSampling, body);
}

void SetAnthropicChoice(const ModelRequest& request, json& body) {
  const CallOptions* options = request.options;
  if (options == nullptr || request.tools.empty()) return;
  json choice = {{"type", "auto"}};
  if (request.forces_tool) {
    const bool is_named = options->tool_choice == CallOptions::ToolChoice::kNamed;
    choice =
        is_named ? json({{"type", "tool"}, {"name", options->tool_name}}) : json({{"type", "any"}});
  }
  if (options->parallel_tool_calls == false) choice["disable_parallel_tool_use"] = true;
  if (choice.size() > 1 || request.forces_tool) body["tool_choice"] = std::move(choice);
}

}  // namespace

Result<std::string> AnthropicRequestJson(const ModelRequest& request,
                                         const std::string& default_model,
                                         const std::string& parameters_json) {
  json defaults = {{"stream", true}};
  const std::string& model = request.model.empty() ? default_model : request.model;
  if (!model.empty()) defaults["model"] = model;
  AG_ASSIGN_OR_RETURN(json body,
                      MergeParameters(defaults, parameters_json, request.parameters_json));
  // The API refuses a request without this limit. Thinking counts as output, so the default leaves
  // room for it.
  if (!body.contains("max_tokens")) {
    body["max_tokens"] = kAnthropicMaxTokens + ThinkingBudget(body);
  }
  AG_RETURN_IF_ERROR(SetAnthropicParameters(request, body));
  TranslateParameters(body);
  SetAnthropicChoice(request, body);
  const std::string system = SystemText(request);
  if (!IsBlank(system)) body["system"] = system;
  AG_ASSIGN_OR_RETURN(body["messages"], Turns(request));
  if (body["messages"].empty()) return NothingToAnswer();
  AG_RETURN_IF_ERROR(AppendTools(body, request.tools));
  return DumpJson(body);
}

}  // namespace agent_graph::models
