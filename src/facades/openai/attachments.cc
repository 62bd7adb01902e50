#include "facades/openai/attachments.h"

#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace agent_graph::openai {
namespace {

constexpr std::string_view kNameBegin = "Attached to the result of the call ";
constexpr std::string_view kNameEnd = ":";

// The call that a text of Attach names.
std::optional<std::string> CallOf(const ContentBlock& block) {
  const auto* named = std::get_if<TextBlock>(&block);
  if (named == nullptr) return std::nullopt;
  std::string_view text = named->text;
  if (!text.starts_with(kNameBegin) || !text.ends_with(kNameEnd)) return std::nullopt;
  text.remove_prefix(kNameBegin.size());
  text.remove_suffix(kNameEnd.size());
  return std::string(text);
}

}  // namespace

void Attach(const std::string& call_id, std::vector<ContentBlock> media, Message& attachments) {
  attachments.role = Role::kUser;
  attachments.content.emplace_back(
      TextBlock{.text = std::string(kNameBegin) + call_id + std::string(kNameEnd)});
  std::move(media.begin(), media.end(), std::back_inserter(attachments.content));
}

bool IsAttachments(const Message& message) {
  return message.role == Role::kUser && !message.content.empty() &&
         CallOf(message.content.front()).has_value();
}

void Detach(const std::unordered_set<std::string>& calls, Message& attachments) {
  bool drops = false;
  std::erase_if(attachments.content, [&](const ContentBlock& block) {
    if (const std::optional<std::string> call = CallOf(block)) drops = calls.contains(*call);
    return drops;
  });
}

}  // namespace agent_graph::openai
