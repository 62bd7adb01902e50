#include "realtime/openai_session.h"

#include <utility>

#include "base/json.h"
#include "message/texts.h"
#include "models/parameters.h"

namespace agent_graph::realtime {

namespace {

constexpr char kTranscriber[] = "gpt-4o-mini-transcribe";

}  // namespace

json OpenAiTurnDetection(const VoiceActivity& vad) {
  if (!vad.enabled.value_or(true)) return nullptr;
  json detection = {{"type", "server_vad"}};
  if (vad.silence_duration_ms) detection["silence_duration_ms"] = *vad.silence_duration_ms;
  if (vad.prefix_padding_ms) detection["prefix_padding_ms"] = *vad.prefix_padding_ms;
  if (vad.start_sensitivity == "high") detection["threshold"] = 0.3;
  if (vad.start_sensitivity == "low") detection["threshold"] = 0.7;
  return detection;
}

json OpenAiTools(const std::vector<models::ToolDeclaration>& declarations) {
  json tools = json::array();
  for (const models::ToolDeclaration& tool : declarations) {
    Result<json> schema = ParseJson(tool.parameters_json);
    tools.push_back({{"type", "function"},
                     {"name", tool.name},
                     {"description", tool.description},
                     {"parameters", schema.ok() ? *schema : json::object()}});
  }
  return tools;
}

json OpenAiSession(const LinkConfig& config, const std::string& provider_parameters) {
  const json format = {{"type", "audio/pcm"}, {"rate", kOpenAiRate}};
  json session = {{"type", "realtime"}, {"tools", OpenAiTools(config.tools)}};
  session["instructions"] = config.system_prompt;
  session["output_modalities"] =
      json::array({config.modality == Modality::kText ? "text" : "audio"});
  json& audio = session["audio"];
  audio["input"] = {{"format", format},
                    {"transcription", {{"model", kTranscriber}}},
                    {"turn_detection", OpenAiTurnDetection(config.vad)}};
  audio["output"] = {{"format", format}};
  if (!config.voice.empty()) audio["output"]["voice"] = config.voice;
  Result<json> parameters = models::MergeParameters(provider_parameters, config.parameters_json);
  if (parameters.ok()) session.merge_patch(*parameters);
  return session;
}

json OpenAiTextItem(const Message& message) {
  const bool user = message.role == Role::kUser;
  const char* const type = user ? "input_text" : "output_text";
  json parts = json::array();
  for (const std::string_view text : message::Texts(message)) {
    parts.push_back({{"type", type}, {"text", text}});
  }
  return {
      {"type", "message"}, {"role", user ? "user" : "assistant"}, {"content", std::move(parts)}};
}

}  // namespace agent_graph::realtime
