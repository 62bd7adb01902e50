#include "run/context/context_window.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "models/model.h"
#include "run/context/metered_model.h"

namespace agent_graph::run {
namespace {

constexpr size_t kBytesPerToken = 4;
constexpr size_t kTokensPerMessage = 4;
constexpr size_t kTokensPerMedia = 1000;
constexpr std::chrono::seconds kSummaryTimeMax{60};
constexpr size_t kTranscriptBytesMax = 512 * 1024;
constexpr size_t kSummaryBytesMax = 64 * 1024;

constexpr std::string_view kSummaryPrompt =
    "You condense conversations. Write a summary of the conversation you are given that lets an "
    "assistant go on with it: facts, names, numbers, decisions, open questions and what the user "
    "wants. A summary of what came before may be included; keep what still matters of it. Answer "
    "with the summary only.";

size_t BlockTokens(const ContentBlock& block) {
  struct Count {
    size_t operator()(const TextBlock& text) { return text.text.size() / kBytesPerToken; }
    size_t operator()(const MediaBlock&) { return kTokensPerMedia; }
    size_t operator()(const ToolCallBlock& call) {
      return (call.name.size() + call.arguments_json.size()) / kBytesPerToken;
    }
    size_t operator()(const ToolResultBlock& result) {
      return result.output_json.size() / kBytesPerToken;
    }
    size_t operator()(const ReasoningBlock& reasoning) {
      return reasoning.summary.size() / kBytesPerToken;
    }
    size_t operator()(const OtherBlock& other) { return other.json.size() / kBytesPerToken; }
  };
  return std::visit(Count(), block);
}

void AppendTranscript(std::string& out, const Message& message) {
  const std::string_view role = RoleName(message.role);
  for (const ContentBlock& block : message.content) {
    if (const auto* text = std::get_if<TextBlock>(&block)) {
      out.append(role).append(": ").append(text->text).append("\n");
    } else if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
      out.append(role)
          .append(" calls ")
          .append(call->name)
          .append(call->arguments_json)
          .append("\n");
    } else if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
      out.append("result: ").append(result->output_json).append("\n");
    }
  }
}

// The longest suffix of `text` (UTF-8) with at most `bytes_max` bytes that does not split a
// character.
std::string_view EndAtCharacter(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.remove_prefix(text.size() - bytes_max);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80) {
    text.remove_prefix(1);
  }
  return text;
}

// Cuts the beginning of a very long conversation, because its end is the most relevant part. Keeps
// the summary before, because the new summary replaces it.
std::string Transcript(const std::string& before, const std::vector<Message>& messages) {
  std::string text;
  if (!before.empty()) {
    text = "Summary of what came before:\n";
    text.append(CutAtCharacter(before, kTranscriptBytesMax / 2)).append("\n\n");
  }
  text += "Conversation:\n";
  std::string conversation;
  for (const Message& message : messages) AppendTranscript(conversation, message);
  return text.append(EndAtCharacter(conversation, kTranscriptBytesMax - text.size()));
}

}  // namespace

size_t EstimateTokens(const Message& message) {
  size_t tokens = kTokensPerMessage;
  for (const ContentBlock& block : message.content) tokens += BlockTokens(block);
  return tokens;
}

size_t FirstInContext(const std::vector<Message>& messages, const ContextPolicy& policy) {
  size_t first = messages.size();
  size_t tokens = 0;
  for (size_t i = messages.size(); i-- > 0;) {
    tokens += EstimateTokens(messages[i]);
    const bool fits = (policy.messages_max == 0 || messages.size() - i <= policy.messages_max) &&
                      (policy.tokens_max == 0 || tokens <= policy.tokens_max);
    if (!fits && first < messages.size()) break;
    if (messages[i].role == Role::kUser) first = i;
    if (i == 0 && fits) first = 0;
  }
  return first == messages.size() ? 0 : first;
}

size_t FirstToKeep(const std::vector<Message>& messages, const ContextPolicy& policy) {
  if (FirstInContext(messages, policy) == 0) return 0;
  ContextPolicy half = policy;
  half.messages_max = (policy.messages_max + 1) / 2;
  half.tokens_max = (policy.tokens_max + 1) / 2;
  return FirstInContext(messages, half);
}

MeteredReply Summarize(const RunEnvironment& environment, const ContextPolicy& policy,
                       const std::string& before, const std::vector<Message>& messages) {
  models::ModelRequest request;
  request.system_prompt =
      policy.summary_prompt.empty() ? std::string(kSummaryPrompt) : policy.summary_prompt;
  request.messages = {Message::User(Transcript(before, messages))};
  request.deadline = environment.DeadlineOf(kSummaryTimeMax);
  MeteredReply call = CallModel(environment, policy.summary_model, std::move(request),
                                [](const auto&) { return Status::Ok(); });
  if (!call.reply.ok()) return call;
  const size_t bytes = call.reply->message.Text().size();
  if (bytes == 0) call.reply = Status(StatusCode::kModel, "the model wrote no summary");
  if (bytes > kSummaryBytesMax) {
    call.reply = Status(StatusCode::kModel, "the model's summary is too long");
  }
  return call;
}

}  // namespace agent_graph::run
