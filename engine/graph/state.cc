#include "agent_graph/state.h"

#include <string_view>
#include <unordered_set>

#include "agent_graph/json.h"
#include "message/texts.h"

namespace agent_graph {

State::State() : fields_(std::make_unique<json>(json::value_t::object)) {}
State::~State() = default;
State::State(const State& other)
    : messages_(other.messages_),
      summary_(other.summary_),
      fields_(std::make_unique<json>(*other.fields_)) {}
State& State::operator=(const State& other) {
  if (this != &other) *this = State(other);
  return *this;
}
State::State(State&& other) noexcept = default;
State& State::operator=(State&& other) noexcept = default;

const json& State::Field(std::string_view name) const {
  static const json* const null = new json();
  auto found = fields_->find(name);
  return found == fields_->end() ? *null : *found;
}

std::string State::LastUserText() const {
  for (auto message = messages_.rbegin(); message != messages_.rend(); ++message) {
    if (message->role == Role::kUser) return message::JoinedTexts(*message);
  }
  return "";
}

const Message* State::LastMessage() const {
  return messages_.empty() ? nullptr : &messages_.back();
}

std::vector<const ToolCallBlock*> State::PendingToolCalls() const {
  std::unordered_set<std::string_view> answered;
  for (auto message = messages_.rbegin(); message != messages_.rend(); ++message) {
    if (message->role == Role::kAssistant) {
      std::vector<const ToolCallBlock*> calls = message->ToolCalls();
      std::erase_if(calls, [&](const ToolCallBlock* call) { return answered.contains(call->id); });
      return calls;
    }
    for (const ToolResultBlock* result : message->ToolResults()) answered.insert(result->call_id);
  }
  return {};
}

}  // namespace agent_graph
