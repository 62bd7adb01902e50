#include "testing/fake_model.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace agent_graph::graph_test {
namespace {

ModelPrompt PromptOf(const models::ModelRequest& request) {
  ModelPrompt prompt{.system_prompt = request.system_prompt,
                     .messages = request.messages,
                     .tools = {},
                     .parameters = json::object()};
  for (const models::ToolDeclaration& tool : request.tools) prompt.tools.push_back(tool.name);
  const Result<json> parameters = ParseJson(request.parameters_json);
  if (parameters.ok()) prompt.parameters = *parameters;
  return prompt;
}

// Passes the text word by word, each with the blanks before it.
Status StreamText(const std::string& text,
                  const std::function<Status(const models::ModelDelta&)>& on_delta) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t word = text.find_first_not_of(' ', begin);
    const size_t end = std::min(text.find(' ', word), text.size());
    AG_RETURN_IF_ERROR(on_delta({.text = text.substr(begin, end - begin), .reasoning = {}}));
    begin = end;
  }
  return Status::Ok();
}

}  // namespace

void FakeModel::Implementation::Add(Reply reply) {
  const MutexLock lock(mutex);
  script.push_back(std::move(reply));
}

Result<models::ModelReply> FakeModel::Implementation::Generate(
    const models::ModelRequest& request, const runtime::Cancellation&,
    const std::function<Status(const models::ModelDelta&)>& on_delta) {
  Reply next;
  {
    const MutexLock lock(mutex);
    prompts.push_back(PromptOf(request));
    if (script.empty()) {
      return Status(StatusCode::kModel, "the fake model has no reply left: call " +
                                            std::to_string(prompts.size()) +
                                            " of it needs one more Says or Calls");
    }
    next = std::move(script.front());
    script.pop_front();
    for (ToolCallBlock& call : next.calls) call.id = "call_" + std::to_string(++calls_made);
  }
  if (!next.failure.empty()) return Status(StatusCode::kModel, next.failure);
  AG_RETURN_IF_ERROR(StreamText(next.text, on_delta));
  models::ModelReply reply;
  reply.model = "fake";
  reply.stop_reason = next.calls.empty() ? "stop" : "tool_calls";
  reply.message.role = Role::kAssistant;
  if (!next.text.empty()) reply.message.content.emplace_back(TextBlock{.text = next.text});
  for (ToolCallBlock& call : next.calls) reply.message.content.emplace_back(std::move(call));
  reply.message.usage = Usage{};
  return reply;
}

FakeModel::FakeModel() : implementation_(std::make_unique<Implementation>()) {}
FakeModel::~FakeModel() = default;

FakeModel& FakeModel::Says(std::string text) {
  implementation_->Add({.text = std::move(text)});
  return *this;
}

FakeModel& FakeModel::Calls(std::string tool, json arguments) {
  return Calls(std::vector<std::pair<std::string, json>>{{std::move(tool), std::move(arguments)}});
}

FakeModel& FakeModel::Calls(std::vector<std::pair<std::string, json>> calls) {
  Implementation::Reply reply;
  for (auto& [tool, arguments] : calls) {
    ToolCallBlock& call = reply.calls.emplace_back();
    call.name = std::move(tool);
    call.arguments_json = DumpJson(arguments);
  }
  implementation_->Add(std::move(reply));
  return *this;
}

FakeModel& FakeModel::Fails(std::string reason) {
  implementation_->Add({.failure = std::move(reason)});
  return *this;
}

std::vector<ModelPrompt> FakeModel::prompts() const {
  const MutexLock lock(implementation_->mutex);
  return implementation_->prompts;
}

size_t FakeModel::replies_left() const {
  const MutexLock lock(implementation_->mutex);
  return implementation_->script.size();
}

}  // namespace agent_graph::graph_test
