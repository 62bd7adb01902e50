#include "models/gemini_request.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "models/call_options.h"
#include "models/gemini_signature.h"
#include "models/media.h"
#include "models/parameters.h"
#include "models/signature.h"
#include "models/system_text.h"
#include "models/tool_json.h"
#include "models/turns.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kBodyKeys[] = {"safetySettings", "toolConfig", "tools",
                                          "cachedContent",  "labels",     "serviceTier"};

// Gemini 3 and later refuse a tool call without a signature, which calls of other providers do not
// have. This value is documented to be accepted.
constexpr char kForeignCallSignature[] = "skip_thought_signature_validator";

bool DemandsSignatures(std::string_view model) {
  constexpr std::string_view kFamily = "gemini-";
  const size_t family = model.find(kFamily);
  if (family == std::string_view::npos) return false;
  const std::string_view version = model.substr(family + kFamily.size());
  const size_t digits = std::min(version.find_first_not_of("0123456789"), version.size());
  return digits > 1 || (digits == 1 && version[0] >= '3');
}

json GeminiTextPart(const std::string& text) {
  return {{"text", text}};
}

json GeminiMediaPart(const MediaBlock& block) {
  if (const std::optional<InlineData> data = InlineDataOf(block)) {
    return {{"inlineData", {{"mimeType", data->mime_type}, {"data", data->base64}}}};
  }
  if (block.media.kind != MediaReference::Kind::kUrl)
    return GeminiTextPart(PlaceholderText(block.media));
  json file = {{"fileUri", block.media.url}};
  if (!block.media.mime_type.empty()) file["mimeType"] = block.media.mime_type;
  return {{"fileData", std::move(file)}};
}

// Converts a conversation. Gemini identifies tool results by the names of the tools.
class Conversation {
 public:
  explicit Conversation(bool demands_signatures) : demands_signatures_(demands_signatures) {}

  Status Append(const Message& message) {
    if (message.role == Role::kSystem) return Status::Ok();
    if (message.role == Role::kAssistant) {
      AG_ASSIGN_OR_RETURN(json parts, ModelParts(message));
      AppendTurn(turns_, "model", "parts", std::move(parts));
      return Status::Ok();
    }
    AG_ASSIGN_OR_RETURN(json parts, UserParts(message));
    AppendTurn(turns_, "user", "parts", std::move(parts));
    return Status::Ok();
  }

  json Take() { return std::move(turns_); }

 private:
  Result<json> ModelParts(const Message& message) {
    json parts = json::array();
    std::string signature;  // for the next part
    bool first_call = true;
    const auto append = [&](json part) {
      if (!signature.empty()) part["thoughtSignature"] = std::exchange(signature, {});
      parts.push_back(std::move(part));
    };
    for (const ContentBlock& block : message.content) {
      if (const auto* reasoning = std::get_if<ReasoningBlock>(&block)) {
        if (!signature.empty()) append(GeminiTextPart(""));
        if (const auto next = SignatureOf(kGeminiNext, reasoning->signature)) signature = *next;
        if (const auto own = SignatureOf(kGeminiThought, reasoning->signature);
            own && signature.empty()) {
          parts.push_back({{"text", reasoning->summary},
                           {"thought", true},
                           {"thoughtSignature", std::string(*own)}});
        }
      } else if (const auto* text = std::get_if<TextBlock>(&block)) {
        if (!text->text.empty()) append(GeminiTextPart(text->text));
      } else if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
        AG_ASSIGN_OR_RETURN(json part, CallPart(*call));
        const bool signs = std::exchange(first_call, false) && demands_signatures_;
        if (signs && signature.empty()) signature = kForeignCallSignature;
        append(std::move(part));
      }
    }
    if (!signature.empty()) append(GeminiTextPart(""));
    return parts;
  }

  Result<json> CallPart(const ToolCallBlock& call) {
    AG_ASSIGN_OR_RETURN(json arguments, CallArguments(call));
    names_[call.id] = call.name;
    json function = {{"id", call.id}, {"name", call.name}, {"args", std::move(arguments)}};
    return json{{"functionCall", std::move(function)}};
  }

  Result<json> UserParts(const Message& message) const {
    json parts = json::array();
    for (const ToolResultBlock* result : message.ToolResults()) {
      AG_ASSIGN_OR_RETURN(json part, ResultPart(*result));
      parts.push_back(std::move(part));
    }
    if (message.role == Role::kTool) return parts;
    for (const ContentBlock& block : message.content) {
      if (const auto* text = std::get_if<TextBlock>(&block)) {
        if (!text->text.empty()) parts.push_back(GeminiTextPart(text->text));
      } else if (const auto* media = std::get_if<MediaBlock>(&block)) {
        parts.push_back(GeminiMediaPart(*media));
      }
    }
    return parts;
  }

  Result<json> ResultPart(const ToolResultBlock& result) const {
    Result<json> output = ParseJson(result.output_json);
    if (!output.ok()) {
      return Status(StatusCode::kModel, "the result of the call \"" + result.call_id + "\" is " +
                                            output.status().message());
    }
    const auto name = names_.find(result.call_id);
    json function = {{"id", result.call_id},
                     {"name", name != names_.end() ? name->second : result.call_id},
                     {"response", {{result.is_error ? "error" : "output", *std::move(output)}}}};
    return json{{"functionResponse", std::move(function)}};
  }

  const bool demands_signatures_;
  std::map<std::string, std::string> names_;  // call id → tool name, of the calls so far
  json turns_ = json::array();
};

Status AppendGeminiTools(json& body, const std::vector<ToolDeclaration>& tools) {
  if (tools.empty()) return Status::Ok();
  json declarations = json::array();
  for (const ToolDeclaration& tool : tools) {
    AG_ASSIGN_OR_RETURN(json schema, ToolSchema(tool));
    declarations.push_back({{"name", tool.name},
                            {"description", tool.description},
                            {"parametersJsonSchema", std::move(schema)}});
  }
  json& list = body["tools"];
  if (!list.is_array()) list = json::array();
  list.push_back({{"functionDeclarations", std::move(declarations)}});
  return Status::Ok();
}

void AddToConfig(json& config, std::string name, json value) {
  if (name == "max_tokens") name = "maxOutputTokens";
  if (name == "top_p") name = "topP";
  if (name == "stop") {
    name = "stopSequences";
    if (!value.is_array()) value = json::array({std::move(value)});
  }
  config[name] = std::move(value);
}

// Moves each parameter to the place where Gemini expects it.
json PlaceParameters(json parameters) {
  json body = json::object();
  json config = json::object();
  if (const auto given = parameters.find("generationConfig"); given != parameters.end()) {
    if (given->is_object()) config = std::move(*given);
    parameters.erase(given);
  }
  for (auto& [name, value] : parameters.items()) {
    const bool own =
        std::find(std::begin(kBodyKeys), std::end(kBodyKeys), name) != std::end(kBodyKeys);
    if (own) {
      body[name] = std::move(value);
    } else {
      AddToConfig(config, name, std::move(value));
    }
  }
  if (!config.empty()) body["generationConfig"] = std::move(config);
  return body;
}

// Gives the limit of tokens the name that a request's limit has, so that the two are compared.
void RenameTokenLimit(json& parameters) {
  constexpr const char* kOwnName = "maxOutputTokens";
  if (parameters.contains("max_tokens")) return;
  const auto config = parameters.find("generationConfig");
  const bool is_in_config = config != parameters.end() && config->is_object();
  for (json* place : {&parameters, is_in_config ? &*config : nullptr}) {
    if (place == nullptr || !place->contains(kOwnName)) continue;
    json limit = std::move((*place)[kOwnName]);
    place->erase(kOwnName);
    parameters["max_tokens"] = std::move(limit);
    return;
  }
}

constexpr std::array<std::string_view, 5> kGeminiCallParameters = {"temperature", "top_p",
                                                                   "max_tokens", "stop", "seed"};

Status SetGeminiOptions(const ModelRequest& request, json& body) {
  const CallOptions* options = request.options;
  if (options == nullptr) return Status::Ok();
  if (request.forces_tool && !request.tools.empty()) {
    json config = {{"mode", "ANY"}};
    if (options->tool_choice == CallOptions::ToolChoice::kNamed) {
      config["allowedFunctionNames"] = json::array({options->tool_name});
    }
    body["toolConfig"]["functionCallingConfig"] = std::move(config);
  }
  if (!options->format) return Status::Ok();
  json& config = body["generationConfig"];
  config["responseMimeType"] = "application/json";
  if (options->format->kind == CallOptions::Format::Kind::kJsonSchema) {
    AG_ASSIGN_OR_RETURN(config["responseJsonSchema"], ParseJson(options->format->schema_json));
  }
  return Status::Ok();
}

}  // namespace

Result<GeminiRequest> WriteGeminiRequest(const ModelRequest& request, const std::string& model,
                                         const std::string& parameters_json) {
  AG_ASSIGN_OR_RETURN(json parameters, MergeParameters(parameters_json, request.parameters_json));
  RenameTokenLimit(parameters);
  AG_RETURN_IF_ERROR(SetCallParameters(request, kGeminiCallParameters, parameters));
  GeminiRequest written;
  written.stream = parameters.value("stream", json(true)) == true;
  parameters.erase("stream");
  json body = PlaceParameters(std::move(parameters));

  const std::string system = SystemText(request);
  if (!system.empty())
    body["systemInstruction"] = {{"parts", json::array({GeminiTextPart(system)})}};
  Conversation conversation(DemandsSignatures(model));
  for (const Message& message : request.messages) {
    AG_RETURN_IF_ERROR(conversation.Append(message));
  }
  body["contents"] = conversation.Take();
  if (body["contents"].empty()) return NothingToAnswer();
  AG_RETURN_IF_ERROR(AppendGeminiTools(body, request.tools));
  AG_RETURN_IF_ERROR(SetGeminiOptions(request, body));
  written.body = DumpJson(body);
  return written;
}

}  // namespace agent_graph::models
