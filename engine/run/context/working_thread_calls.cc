// The tool calls of a working thread: finding those without a result, and closing them.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "message/codec.h"
#include "run/context/handed_out_calls.h"
#include "run/context/working_thread.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

constexpr char kAbandonedCallJson[] = R"({"error":"the client went on without making this call"})";

constexpr char kUndecidedCallJson[] =
    R"({"error":"the run ended while this call was being made: whether it took effect is unknown"})";

constexpr char kUnansweredCallJson[] =
    R"({"error":"the user went on without answering what the tool asked"})";

std::unordered_set<std::string> AnsweredCalls(const std::vector<Message>& messages) {
  std::unordered_set<std::string> ids;
  for (const Message& message : messages) {
    for (const ToolResultBlock* result : message.ToolResults()) ids.insert(result->call_id);
  }
  return ids;
}

using MessagesOfCall = std::unordered_map<std::string_view, std::vector<std::string>>;

// Returns the ids of the messages with each call since the newest assistant message: a call that
// was handed out appears in two messages.
MessagesOfCall MessagesOfNewestCalls(const std::vector<Message>& messages) {
  MessagesOfCall carriers;
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    for (const ToolCallBlock* call : message->ToolCalls()) {
      std::vector<std::string>& ids = carriers[call->id];
      if (ids.empty() || ids.back() != message->id) ids.push_back(message->id);
    }
    if (message->role == Role::kAssistant) break;
  }
  return carriers;
}

bool IsAnsweredRemoteCall(const ContentBlock& block,
                          const std::unordered_set<std::string>& answered) {
  const auto* call = std::get_if<ToolCallBlock>(&block);
  return call != nullptr && call->remote && answered.contains(call->id);
}

}  // namespace

bool WorkingThread::HasOpenCalls(const std::vector<Message>& answers) const {
  const std::unordered_set<std::string> answered = AnsweredCalls(answers);
  const std::vector<const ToolCallBlock*> pending = state_->PendingToolCalls();
  return std::any_of(pending.begin(), pending.end(),
                     [&](const ToolCallBlock* call) { return !answered.contains(call->id); });
}

// See State::PendingToolCalls.
std::string WorkingThread::MessageOfPendingCalls() const {
  const std::vector<Message>& messages = state_->messages();
  const auto newest = std::find_if(messages.rbegin(), messages.rend(), [](const Message& message) {
    return message.role == Role::kAssistant;
  });
  return newest == messages.rend() ? std::string() : newest->id;
}

Status WorkingThread::CloseOpenCalls(const std::vector<Message>& answers, const LostCalls& lost) {
  const std::unordered_set<std::string> answered = AnsweredCalls(answers);
  std::vector<Message> results;
  for (const ToolCallBlock* call : state_->PendingToolCalls()) {
    if (!answered.contains(call->id)) results.push_back(lost.ResultOf(call->id));
  }
  return AppendAll(std::move(results));
}

Status WorkingThread::CloseAbandonedCalls(const std::vector<Message>& answers,
                                          const OpenInputs& inputs) {
  if (inputs.has_new_answers()) return Status::Ok();
  const std::unordered_set<std::string> answered = AnsweredCalls(answers);
  const std::unordered_set<std::string> handed_out = HandedOutCalls(*state_);
  std::vector<Message> results;
  for (const ToolCallBlock* call : state_->PendingToolCalls()) {
    if (answered.contains(call->id)) return Status::Ok();
    if (const OpenInput* open = inputs.Find(call->id)) {
      const char* text = open->undecided ? kUndecidedCallJson : kUnansweredCallJson;
      results.push_back(Message::ToolResult(call->id, text, true));
    } else if (handed_out.contains(call->id)) {
      results.push_back(Message::ToolResult(call->id, kAbandonedCallJson, true));
    }
  }
  return AppendAll(std::move(results));
}

std::vector<state::OpenCall> WorkingThread::OpenCalls() const {
  const std::vector<const ToolCallBlock*> pending = state_->PendingToolCalls();
  if (pending.empty()) return {};
  const std::unordered_set<std::string> handed_out = HandedOutCalls(*state_);
  const MessagesOfCall carriers = MessagesOfNewestCalls(state_->messages());
  std::vector<state::OpenCall> open;
  for (const ToolCallBlock* call : pending) {
    open.push_back({call->id, handed_out.contains(call->id), carriers.at(call->id)});
  }
  return open;
}

void WorkingThread::ShowMessages(size_t first, size_t end,
                                 const std::function<void(std::string_view)>& show) const {
  const std::unordered_set<std::string> answered = AnsweredCalls(state_->messages());
  for (size_t i = first; i < std::min(end, stored_.size()); ++i) {
    const Message& message = state_->messages()[i];
    auto is_answered = [&](const ContentBlock& block) {
      return IsAnsweredRemoteCall(block, answered);
    };
    if (std::none_of(message.content.begin(), message.content.end(), is_answered)) {
      show(stored_[i].json);
      continue;
    }
    Message rest = message;
    std::erase_if(rest.content, is_answered);
    if (!rest.content.empty()) show(message::ToJsonText(rest));
  }
}

std::string WorkingThread::VisibleMessages() const {
  std::string array = "[";
  array.reserve(message_bytes_ + stored_.size() + 2);  // a window may be large
  ShowMessages(0, stored_.size(), [&](std::string_view message) {
    if (array.size() > 1) array += ',';
    array += message;
  });
  array += ']';
  return array;
}

}  // namespace agent_graph::run
