#include "facades/openai/repeated_input.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "facades/run/attachments.h"
#include "message/codec.h"

namespace agent_graph::openai {
namespace {

bool IsResult(const Message& message) {
  return !message.ToolResults().empty();
}

// Role and content, without what differs between two copies of a message.
std::string ContentOf(const Message& message) {
  Message content;
  content.role = message.role;
  content.content = message.content;
  return message::ToJsonText(content);
}

std::vector<std::string> UserContents(std::vector<Message>::const_iterator begin,
                                      std::vector<Message>::const_iterator end) {
  std::vector<std::string> contents;
  for (auto message = begin; message != end; ++message) {
    if (message->role == Role::kUser && !facades::IsAttachments(*message))
      contents.push_back(ContentOf(*message));
  }
  return contents;
}

}  // namespace

bool MayRepeat(const std::vector<Message>& input) {
  const auto result = std::ranges::find_if(input, IsResult);
  return result != input.begin() && result != input.end();
}

void DropRepeated(const std::vector<Message>& conversation, std::vector<Message>& messages) {
  std::vector<Message> input = messages;
  std::unordered_set<std::string> answered;
  for (const Message& message : conversation) {
    for (const ToolResultBlock* result : message.ToolResults()) answered.insert(result->call_id);
  }
  const auto first = std::ranges::find_if(input, IsResult);
  const std::vector<std::string> sent = UserContents(input.cbegin(), first);
  const std::vector<std::string> known = UserContents(conversation.begin(), conversation.end());
  const bool is_known =
      sent.size() <= known.size() && std::equal(sent.rbegin(), sent.rend(), known.rbegin());
  const auto is_repeated = [&](const Message& message) {
    const auto results = message.ToolResults();
    return !results.empty() && std::ranges::all_of(results, [&](const ToolResultBlock* result) {
      return answered.contains(result->call_id);
    });
  };
  const auto rest = std::stable_partition(input.begin(), first, [&](const Message& message) {
    return !is_known || message.role != Role::kUser;
  });
  input.erase(rest, first);
  std::erase_if(input, is_repeated);
  for (Message& message : input) {
    if (facades::IsAttachments(message)) facades::Detach(answered, message);
  }
  std::erase_if(input, [](const Message& message) { return message.content.empty(); });
  // If nothing is new, the request is refused as it came.
  if (!input.empty()) messages = std::move(input);
}

}  // namespace agent_graph::openai
