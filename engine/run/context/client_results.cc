#include "run/context/client_results.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent_graph/state.h"
#include "base/json.h"
#include "message/codec.h"
#include "message/texts.h"
#include "run/context/execution_meta.h"
#include "run/context/repeated_messages.h"

namespace agent_graph::run {
namespace {

Status Refuse(size_t index, const std::string& problem) {
  return Status(StatusCode::kInvalidArgument, "message " + std::to_string(index) + ": " + problem);
}

std::string JoinIds(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text;
}

Result<State> ReadWindow(const std::vector<state::StoredMessage>& window) {
  State state;
  for (const state::StoredMessage& stored : window) {
    AG_ASSIGN_OR_RETURN(Message message, message::FromJsonText(stored.json));
    state.mutable_messages().push_back(std::move(message));
  }
  return state;
}

// The calls that wait for a result.
class OpenCalls {
 public:
  void Add(const std::string& id) {
    if (places_.emplace(id, next_).second) ids_.emplace(next_++, id);
  }
  void Clear() {
    places_.clear();
    ids_.clear();
  }
  // Returns false if no call with that id waits.
  bool Answer(const std::string& id) {
    const auto found = places_.find(id);
    if (found == places_.end()) return false;
    ids_.erase(found->second);
    places_.erase(found);
    return true;
  }
  // In the order in which they were added.
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const auto& [place, id] : ids_) ids.push_back(id);
    return ids;
  }

 private:
  size_t next_ = 0;
  std::map<size_t, std::string> ids_;
  std::unordered_map<std::string, size_t> places_;  // in ids_
};

bool IsPlainResult(const Message& message) {
  return message.role == Role::kTool && message.ToolResults().empty() &&
         message.ToolCalls().empty();
}

// Assigns the text of `message`, as a result, to the only open call.
Status NameCall(size_t index, std::vector<std::string> open, const OpenInputs& inputs,
                Message& message) {
  std::erase_if(open, [&](const std::string& id) { return inputs.Find(id) != nullptr; });
  if (open.empty()) return Refuse(index, "no tool call waits for a result");
  if (open.size() > 1) {
    return Refuse(index, "must name in call_id which call it answers: " + JoinIds(open));
  }
  ToolResultBlock result;
  result.call_id = open.front();
  result.output_json.clear();
  AppendJsonString(result.output_json, message::JoinedTexts(message));
  message.content.clear();
  message.content.emplace_back(std::move(result));
  return Status::Ok();
}

}  // namespace

bool BringResults(const std::vector<Message>& messages) {
  return std::any_of(messages.begin(), messages.end(), [](const Message& message) {
    return message.role == Role::kTool || !message.ToolResults().empty();
  });
}

bool IsRepeated(const state::ThreadState& thread, const std::vector<Message>& messages) {
  const Result<State> state = ReadWindow(thread.window);
  if (!state.ok()) return false;
  const ExecutionMeta meta = ExecutionMeta::FromJson(thread.snapshot.execution_json);
  const Repetition repetition = FindRepetition(state->messages(), messages, meta.request_is_open());
  return std::find(repetition.known.begin(), repetition.known.end(), false) ==
         repetition.known.end();
}

Status MatchResults(const std::vector<state::StoredMessage>& window, std::vector<Message>& messages,
                    OpenInputs& inputs) {
  AG_ASSIGN_OR_RETURN(const State state, ReadWindow(window));
  OpenCalls open;
  for (const ToolCallBlock* call : state.PendingToolCalls()) open.Add(call->id);
  inputs.KeepOnly(open.ids());
  AG_RETURN_IF_ERROR(inputs.TakeAnswers(messages));
  for (size_t i = 0; i < messages.size(); ++i) {
    Message& message = messages[i];
    if (message.role == Role::kAssistant) open.Clear();
    for (const ToolCallBlock* call : message.ToolCalls()) open.Add(call->id);
    if (IsPlainResult(message)) AG_RETURN_IF_ERROR(NameCall(i, open.ids(), inputs, message));
    for (const ToolResultBlock* result : message.ToolResults()) {
      if (open.Answer(result->call_id)) continue;
      return Refuse(i, "no tool call with the id \"" + result->call_id + "\" waits for a result");
    }
  }
  return Status::Ok();
}

}  // namespace agent_graph::run
