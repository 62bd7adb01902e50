#include "run/context/dangling_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "message/codec.h"

namespace agent_graph::run {
namespace {

using Positions = std::unordered_map<std::string, size_t>;

// Returns the position of the last result of each call.
Positions LastResults(const std::vector<Message>& messages) {
  Positions results;
  for (size_t i = 0; i < messages.size(); ++i) {
    for (const ToolResultBlock* result : messages[i].ToolResults()) results[result->call_id] = i;
  }
  return results;
}

// A call that was handed to the client appears in two messages; one result answers both.
bool AllAnswered(const Message& message, size_t position, const Positions& results) {
  const auto calls = message.ToolCalls();
  return std::all_of(calls.begin(), calls.end(), [&](const ToolCallBlock* call) {
    auto result = results.find(call->id);
    return result != results.end() && result->second > position;
  });
}

bool OnlyResultsWithout(const std::unordered_set<std::string>& calls, const Message& message) {
  return !message.content.empty() &&
         std::all_of(message.content.begin(), message.content.end(), [&](const auto& block) {
           const auto* result = std::get_if<ToolResultBlock>(&block);
           return result != nullptr && !calls.contains(result->call_id);
         });
}

}  // namespace

std::vector<std::string> DanglingMessages(const std::vector<Message>& messages) {
  const Positions results = LastResults(messages);
  std::vector<std::string> dangling;
  std::unordered_set<std::string> calls;  // calls of the messages kept so far
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (!AllAnswered(message, i, results) || OnlyResultsWithout(calls, message)) {
      dangling.push_back(message.id);
      continue;
    }
    for (const ToolCallBlock* call : message.ToolCalls()) calls.insert(call->id);
  }
  return dangling;
}

Result<std::vector<std::string>> DanglingMessages(const std::vector<state::StoredMessage>& window) {
  std::vector<Message> messages;
  messages.reserve(window.size());
  for (const state::StoredMessage& stored : window) {
    AG_ASSIGN_OR_RETURN(Message message, message::FromJsonText(stored.json));
    message.id = stored.id;
    messages.push_back(std::move(message));
  }
  return DanglingMessages(messages);
}

}  // namespace agent_graph::run
