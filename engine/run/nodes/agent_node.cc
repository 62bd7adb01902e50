#include "run/nodes/agent_node.h"

#include <unordered_set>
#include <utility>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "models/model.h"
#include "run/context/context_window.h"
#include "run/context/model_conversation.h"
#include "run/nodes/node_tools.h"

namespace agent_graph::run {
namespace {

std::vector<models::ToolDeclaration> Declare(const OfferedTools& tools) {
  std::vector<models::ToolDeclaration> declarations;
  declarations.reserve(tools.size());
  for (const OfferedTool& offered : tools) {
    const Tool& tool = *offered.tool;
    declarations.push_back({tool.name, tool.description, tool.parameters_json});
  }
  return declarations;
}

std::string SystemPrompt(const Agent& agent, const State& state) {
  std::string prompt = agent.system_prompt;
  if (state.summary() && !state.summary()->empty()) {
    if (!prompt.empty()) prompt += "\n\n";
    prompt += "Summary of the conversation before these messages:\n" + *state.summary();
  }
  return prompt;
}

// Tool results are matched to calls by id, so an id must not occur twice in a thread's window. Some
// providers omit ids or count from zero in each reply.
void MakeCallIdsUnique(Message& reply, const State& state) {
  std::unordered_set<std::string> taken;
  for (const Message& message : state.messages()) {
    for (const ToolCallBlock* call : message.ToolCalls()) taken.insert(call->id);
  }
  for (ContentBlock& block : reply.content) {
    auto* call = std::get_if<ToolCallBlock>(&block);
    if (call == nullptr) continue;
    if (call->id.empty() || !taken.insert(call->id).second) {
      call->id = "call_" + NewHexId();
      taken.insert(call->id);
    }
  }
}

void Complete(models::ModelReply& reply, std::string message_id, const State& state) {
  Message& message = reply.message;
  message.id = std::move(message_id);
  message.role = Role::kAssistant;
  message.timestamp = UnixSeconds();
  if (message.metadata_json == "{}") {
    message.metadata_json = "{\"model\":";
    AppendJsonString(message.metadata_json, reply.model);
    message.metadata_json += ",\"stop_reason\":";
    AppendJsonString(message.metadata_json, reply.stop_reason);
    message.metadata_json.push_back('}');
  }
  MakeCallIdsUnique(message, state);
}

std::vector<Message> InContext(const std::optional<ContextPolicy>& policy,
                               const std::vector<Message>& window) {
  const size_t first = policy ? FirstInContext(window, *policy) : 0;
  if (first == 0) return ModelConversation(window);
  return ModelConversation({window.begin() + static_cast<ptrdiff_t>(first), window.end()});
}

std::string ModelCallJson(const std::string& node, const Agent& agent, int64_t started_micros) {
  std::string out = "{\"node\":";
  AppendJsonString(out, node);
  out += ",\"model_name\":";
  AppendJsonString(out, agent.model);
  out += ",\"duration_micros\":" + std::to_string(UnixMicros() - started_micros);
  return out;
}

std::string ModelFailedJson(std::string out, const Status& failure) {
  out += ",\"code\":";
  AppendJsonString(out, StatusCodeName(failure.code()));
  out += ",\"reason\":";
  AppendJsonString(out, failure.message());
  out.push_back('}');
  return out;
}

std::string ModelFinishedJson(std::string out, const models::ModelReply& reply) {
  const Usage usage = reply.message.usage.value_or(Usage{});
  out += ",\"model\":";
  AppendJsonString(out, reply.model);
  out += ",\"stop_reason\":";
  AppendJsonString(out, reply.stop_reason);
  out += ",\"message_id\":";
  AppendJsonString(out, reply.message.id);
  out += ",\"input_tokens\":" + std::to_string(usage.prompt_tokens) +
         ",\"output_tokens\":" + std::to_string(usage.completion_tokens) + "}";
  return out;
}

}  // namespace

Result<NodeResult> RunAgentNode(const RunEnvironment& environment, const std::string& name,
                                const Agent& agent, const State& state, Emitter& emitter,
                                RunLog& log) {
  models::ModelProvider* provider =
      environment.find_model ? environment.find_model(agent.model) : nullptr;
  if (provider == nullptr) {
    return Status(StatusCode::kModel, "model \"" + agent.model + "\" is not configured");
  }
  models::ModelRequest request;
  request.system_prompt = SystemPrompt(agent, state);
  request.messages = InContext(environment.graph->context(), state.messages());
  std::shared_ptr<void> shown;
  if (environment.show_files) {
    AG_ASSIGN_OR_RETURN(shown, environment.show_files(environment, request.messages));
  }
  if (!agent.tool_node.empty()) {
    request.tools = Declare(WithTags(
        ToolsOf(environment.graph, agent.tool_node, environment.catalog,
                environment.remote_tools.get(), environment.cancellation, environment.deadline),
        agent.tools_tags));
  }
  request.parameters_json = agent.parameters_json;
  request.deadline = environment.deadline;

  const std::string message_id = environment.ids->Next();
  auto on_delta = [&](const models::ModelDelta& delta) {
    if (!agent.stream || !agent.output_field.empty()) {
      emitter.HoldPiece(delta.text.size() + delta.reasoning.size());
      return Status::Ok();
    }
    return emitter.EmitPiece(message_id, delta.text, delta.reasoning);
  };
  const int64_t started_micros = UnixMicros();
  Result<models::ModelReply> reply =
      provider->Generate(request, environment.cancellation, on_delta);
  std::string call = ModelCallJson(name, agent, started_micros);
  if (!reply.ok()) {
    log.Add("model_failed", ModelFailedJson(std::move(call), reply.status()));
    return reply.status();
  }
  Complete(*reply, message_id, state);
  log.Add("model_finished", ModelFinishedJson(std::move(call), *reply));
  if (agent.output_field.empty()) return NodeResult(std::move(reply->message));
  return NodeResult().Set(agent.output_field, reply->message.Text());
}

}  // namespace agent_graph::run
