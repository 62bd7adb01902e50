#include "agent_graph/message.h"

#include <utility>

namespace agent_graph {
namespace {

Message OfText(Role role, std::string text) {
  Message message;
  message.role = role;
  message.content.emplace_back(TextBlock{.text = std::move(text)});
  return message;
}

template <typename Block>
std::vector<const Block*> BlocksOf(const std::vector<ContentBlock>& content) {
  std::vector<const Block*> found;
  for (const ContentBlock& block : content) {
    if (const auto* match = std::get_if<Block>(&block)) found.push_back(match);
  }
  return found;
}

}  // namespace

Message Message::User(std::string text) {
  return OfText(Role::kUser, std::move(text));
}
Message Message::Assistant(std::string text) {
  return OfText(Role::kAssistant, std::move(text));
}
Message Message::System(std::string text) {
  return OfText(Role::kSystem, std::move(text));
}

Message Message::ToolResult(std::string call_id, std::string output_json, bool is_error) {
  Message message;
  message.role = Role::kTool;
  message.content.emplace_back(
      ToolResultBlock{std::move(call_id), std::move(output_json), is_error});
  return message;
}

std::string Message::Text() const {
  std::string text;
  for (const TextBlock* block : BlocksOf<TextBlock>(content)) text += block->text;
  return text;
}

std::vector<const ToolCallBlock*> Message::ToolCalls() const {
  return BlocksOf<ToolCallBlock>(content);
}

std::vector<const ToolResultBlock*> Message::ToolResults() const {
  return BlocksOf<ToolResultBlock>(content);
}

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
    case Role::kSystem:
      return "system";
    case Role::kTool:
      return "tool";
  }
  return "user";
}

std::optional<Role> ParseRole(std::string_view name) {
  for (Role role : {Role::kUser, Role::kAssistant, Role::kSystem, Role::kTool}) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

}  // namespace agent_graph
