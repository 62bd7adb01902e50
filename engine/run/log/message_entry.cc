#include "run/log/message_entry.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::run {
namespace {

std::string_view TypeOf(const ContentBlock& block) {
  struct Name {
    std::string_view operator()(const TextBlock&) { return "text"; }
    std::string_view operator()(const MediaBlock& media) {
      switch (media.type) {
        case MediaBlock::Type::kImage:
          return "image";
        case MediaBlock::Type::kAudio:
          return "audio";
        case MediaBlock::Type::kVideo:
          return "video";
        case MediaBlock::Type::kDocument:
          return "document";
      }
      return "media";
    }
    std::string_view operator()(const ToolCallBlock& call) {
      return call.remote ? "remote_tool_call" : "tool_call";
    }
    std::string_view operator()(const ToolResultBlock&) { return "tool_result"; }
    std::string_view operator()(const ReasoningBlock&) { return "reasoning"; }
    std::string_view operator()(const OtherBlock& other) { return other.type; }
  };
  return std::visit(Name(), block);
}

void AppendTools(std::string& out, const Message& message) {
  const auto calls = message.ToolCalls();
  if (calls.empty()) return;
  out += ",\"tools\":[";
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) out.push_back(',');
    AppendJsonString(out, calls[i]->name);
  }
  out.push_back(']');
}

void AppendUsage(std::string& out, const Message& message) {
  if (!message.usage) return;
  const Usage& usage = *message.usage;
  out += ",\"usage\":{\"prompt\":" + std::to_string(usage.prompt_tokens) +
         ",\"completion\":" + std::to_string(usage.completion_tokens) +
         ",\"reasoning\":" + std::to_string(usage.reasoning_tokens) +
         ",\"total\":" + std::to_string(usage.total_tokens) + "}";
  const Result<json> metadata = ParseJson(message.metadata_json);
  if (!metadata.ok() || !metadata->is_object()) return;
  const auto model = metadata->find("model");
  if (model == metadata->end() || !model->is_string()) return;
  out += ",\"model\":";
  AppendJsonString(out, model->get_ref<const std::string&>());
}

}  // namespace

std::string MessageEntryJson(const Message& message, std::string_view node) {
  std::string out = "{\"message_id\":";
  AppendJsonString(out, message.id);
  out += ",\"node\":";
  AppendJsonString(out, node);
  out += ",\"role\":";
  AppendJsonString(out, RoleName(message.role));
  out += ",\"blocks\":[";
  for (size_t i = 0; i < message.content.size(); ++i) {
    if (i > 0) out.push_back(',');
    AppendJsonString(out, TypeOf(message.content[i]));
  }
  out.push_back(']');
  AppendTools(out, message);
  AppendUsage(out, message);
  out.push_back('}');
  return out;
}

}  // namespace agent_graph::run
