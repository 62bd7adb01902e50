#include "run/log/message_entry.h"

#include <optional>
#include <string>
#include <variant>

#include "agent_graph/json.h"
#include "base/sized_json.h"

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

// The provider's name of the model, which agents store in the message's metadata.
std::optional<std::string> ModelOf(const Message& message) {
  const Result<json> metadata = ParseJson(message.metadata_json, kSizedJsonLimits);
  if (!metadata.ok() || !metadata->is_object()) return std::nullopt;
  const auto model = metadata->find("model");
  if (model == metadata->end() || !model->is_string()) return std::nullopt;
  return model->get<std::string>();
}

}  // namespace

entry::MessageAdded MessageEntry(const Message& message, std::string_view node) {
  entry::MessageAdded added;
  added.message_id = message.id;
  added.node = node;
  added.role = RoleName(message.role);
  for (const ContentBlock& block : message.content) added.blocks.emplace_back(TypeOf(block));
  for (const ToolCallBlock* call : message.ToolCalls()) added.tools.push_back(call->name);
  added.usage = message.usage;
  if (message.usage) added.model = ModelOf(message);
  return added;
}

}  // namespace agent_graph::run
