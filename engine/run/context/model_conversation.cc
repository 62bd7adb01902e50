#include "run/context/model_conversation.h"

#include <string>
#include <unordered_map>
#include <utility>

namespace agent_graph::run {
namespace {

constexpr char kNoResultJson[] = R"({"error":"this call has no result"})";

struct PlacedResult {
  size_t position;  // position of its message in the window
  const ToolResultBlock* result;
};

using ResultsById = std::unordered_multimap<std::string, PlacedResult>;

ResultsById CollectResults(const std::vector<Message>& window) {
  ResultsById results;
  for (size_t position = 0; position < window.size(); ++position) {
    for (const ToolResultBlock* result : window[position].ToolResults()) {
      results.emplace(result->call_id, PlacedResult{position, result});
    }
  }
  return results;
}

// Returns the first result of `call_id` after `position`; some providers reuse ids.
const ToolResultBlock* FindResult(const ResultsById& results, const std::string& call_id,
                                  size_t position) {
  const PlacedResult* found = nullptr;
  auto [first, last] = results.equal_range(call_id);
  for (auto at = first; at != last; ++at) {
    const PlacedResult& placed = at->second;
    if (placed.position <= position) continue;
    if (found == nullptr || placed.position < found->position) found = &placed;
  }
  return found == nullptr ? nullptr : found->result;
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
  const ResultsById results = CollectResults(window);
  std::vector<Message> out;
  out.reserve(window.size());
  for (size_t position = 0; position < window.size(); ++position) {
    const Message& message = window[position];
    if (message.role != Role::kAssistant) {
      AppendPlain(out, message);
      continue;
    }
    out.push_back(message);
    for (const ToolCallBlock* call : message.ToolCalls()) {
      const ToolResultBlock* result = FindResult(results, call->id, position);
      out.push_back(result == nullptr
                        ? Message::ToolResult(call->id, kNoResultJson, true)
                        : Message::ToolResult(call->id, result->output_json, result->is_error));
    }
  }
  return out;
}

}  // namespace agent_graph::run
