#include "run/context/model_conversation.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

namespace agent_graph::run {
namespace {

constexpr char kNoResultJson[] = R"({"error":"this call has no result"})";

// The calls with one id in the newest message that has such calls.
struct WaitingCalls {
  size_t position = 0;  // of that message in the window
  std::vector<const ToolCallBlock*> calls;
  size_t answered = 0;
};

using ResultOfCall = std::unordered_map<const ToolCallBlock*, const ToolResultBlock*>;

// Gives each result to one call only, because the conversation has a copy of it for each call. Some
// providers reuse ids: then the result belongs to the newest message before it with such a call.
ResultOfCall AssignResults(const std::vector<Message>& window) {
  std::unordered_map<std::string_view, WaitingCalls> waiting;
  ResultOfCall results;
  for (size_t position = 0; position < window.size(); ++position) {
    const Message& message = window[position];
    for (const ToolResultBlock* result : message.ToolResults()) {
      const auto found = waiting.find(result->call_id);
      if (found == waiting.end()) continue;
      WaitingCalls& same = found->second;
      if (same.answered < same.calls.size()) results[same.calls[same.answered++]] = result;
    }
    if (message.role != Role::kAssistant) continue;
    for (const ToolCallBlock* call : message.ToolCalls()) {
      WaitingCalls& same = waiting[call->id];
      if (same.position != position) same = {.position = position, .calls = {}};
      same.calls.push_back(call);
    }
  }
  return results;
}

bool HasOtherContent(const Message& message) {
  for (const ContentBlock& block : message.content) {
    if (!std::holds_alternative<ToolResultBlock>(block) &&
        !std::holds_alternative<ToolCallBlock>(block)) {
      return true;
    }
  }
  return false;
}

// Appends a message of another role than assistant, without its tool results and calls.
void AppendPlain(std::vector<Message>& out, const Message& message) {
  if (message.role == Role::kTool) return;
  if (message.ToolResults().empty()) {
    out.push_back(message);
    return;
  }
  if (!HasOtherContent(message)) return;
  Message plain = message;
  std::erase_if(plain.content, [](const ContentBlock& block) {
    return std::holds_alternative<ToolResultBlock>(block);
  });
  out.push_back(std::move(plain));
}

}  // namespace

std::vector<Message> ModelConversation(const std::vector<Message>& window) {
  const ResultOfCall results = AssignResults(window);
  std::vector<Message> out;
  out.reserve(window.size());
  for (const Message& message : window) {
    if (message.role != Role::kAssistant) {
      AppendPlain(out, message);
      continue;
    }
    out.push_back(message);
    for (const ToolCallBlock* call : message.ToolCalls()) {
      const auto result = results.find(call);
      out.push_back(result == results.end()
                        ? Message::ToolResult(call->id, kNoResultJson, true)
                        : Message::ToolResult(call->id, result->second->output_json,
                                              result->second->is_error));
    }
  }
  return out;
}

}  // namespace agent_graph::run
