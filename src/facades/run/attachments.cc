#include "facades/run/attachments.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "message/texts.h"

namespace agent_graph::facades {
namespace {

constexpr std::string_view kNameBegin = "Attached to the result of the call ";
constexpr std::string_view kNameEnd = ":";

}  // namespace

std::optional<std::string> AttachedCall(const ContentBlock& block) {
  const auto* named = std::get_if<TextBlock>(&block);
  if (named == nullptr) return std::nullopt;
  std::string_view text = named->text;
  if (!text.starts_with(kNameBegin) || !text.ends_with(kNameEnd)) return std::nullopt;
  text.remove_prefix(kNameBegin.size());
  text.remove_suffix(kNameEnd.size());
  return std::string(text);
}

void Attach(const std::string& call_id, std::vector<ContentBlock> media, Message& attachments) {
  attachments.role = Role::kUser;
  attachments.content.emplace_back(
      TextBlock{.text = std::string(kNameBegin) + call_id + std::string(kNameEnd)});
  std::move(media.begin(), media.end(), std::back_inserter(attachments.content));
}

std::string TakeResultText(const std::string& call_id, Message& result, Message& attachments) {
  std::vector<ContentBlock>& content = result.content;
  const auto media = std::stable_partition(
      content.begin(), content.end(),
      [](const ContentBlock& block) { return std::holds_alternative<TextBlock>(block); });
  if (media == content.end()) return message::JoinedTexts(result);
  Attach(call_id, {std::make_move_iterator(media), std::make_move_iterator(content.end())},
         attachments);
  content.erase(media, content.end());
  return content.empty() ? std::string(kAttachedResult) : message::JoinedTexts(result);
}

bool IsAttachments(const Message& message) {
  return message.role == Role::kUser && message.content.size() > 1 &&
         AttachedCall(message.content[0]).has_value() &&
         std::holds_alternative<MediaBlock>(message.content[1]);
}

void Detach(const std::unordered_set<std::string>& calls, Message& attachments) {
  bool drops = false;
  std::erase_if(attachments.content, [&](const ContentBlock& block) {
    if (const std::optional<std::string> call = AttachedCall(block)) drops = calls.contains(*call);
    return drops;
  });
}

}  // namespace agent_graph::facades
