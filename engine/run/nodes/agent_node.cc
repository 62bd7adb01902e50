#include "run/nodes/agent_node.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "models/call_options.h"
#include "models/model.h"
#include "run/context/context_window.h"
#include "run/context/metered_model.h"
#include "run/context/model_conversation.h"
#include "run/hand_over.h"
#include "run/nodes/model_call_entry.h"
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

// The options of the client's request apply only to agents that write answers, not to those that
// write a state field.
const models::CallOptions* OptionsFor(const RunEnvironment& environment, const Agent& agent) {
  return agent.output_field.empty() ? environment.call_options.get() : nullptr;
}

std::string SystemPrompt(const Agent& agent, const State& state,
                         const models::CallOptions* options) {
  std::string prompt = agent.system_prompt;
  if (options != nullptr && !options->instructions.empty()) {
    if (!prompt.empty()) prompt += "\n\n";
    prompt += options->instructions;
  }
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

// A demand for a tool call holds for the first reply of the run that can fulfil it, or the agent
// would never come to its answer.
bool ForcesTool(const RunEnvironment& environment, const models::ModelRequest& request) {
  const models::CallOptions* options = request.options;
  if (options == nullptr || options->tool_choice == models::CallOptions::ToolChoice::kAuto) {
    return false;
  }
  const bool is_named = options->tool_choice == models::CallOptions::ToolChoice::kNamed;
  const bool can_call = std::ranges::any_of(request.tools, [&](const auto& tool) {
    return !is_named || tool.name == options->tool_name;
  });
  return can_call && !environment.tool_was_forced->load();
}

// The client knows its own tools only: a call that it demands is one of them.
void KeepClientTools(OfferedTools offered, models::ModelRequest& request) {
  if (std::erase_if(offered, [](const OfferedTool& tool) { return !tool.has_all_tags; }) == 0)
    return;
  if (!offered.empty()) request.tools = Declare(offered);
}

// This function and ResultOf are not inlined, so that the stack of a run that waits for its model
// has no room for them.
[[gnu::noinline]] Result<models::ModelRequest> MakeRequest(const RunEnvironment& environment,
                                                           const Agent& agent, const State& state,
                                                           std::shared_ptr<void>& files) {
  models::ModelRequest request;
  request.options = OptionsFor(environment, agent);
  request.system_prompt = SystemPrompt(agent, state, request.options);
  request.messages = InContext(environment.graph->context(), state.messages());
  OfferedTools offered;
  if (!agent.tool_node.empty()) {
    offered = WithTags(
        ToolsOf(environment.graph, agent.tool_node, environment.services->catalog,
                environment.remote_tools.get(), environment.cancellation, environment.deadline),
        agent.tools_tags);
    request.tools = Declare(offered);
  } else if (environment.remote_tools != nullptr && agent.output_field.empty()) {
    for (const tools::CatalogToolPtr& entry : environment.remote_tools->OfNoNode()) {
      const Tool& tool = entry->tool;
      request.tools.push_back({tool.name, tool.description, tool.parameters_json});
    }
  }
  request.forces_tool = ForcesTool(environment, request);
  if (request.forces_tool) KeepClientTools(std::move(offered), request);
  // Last: other calls may wait for the memory of the files, so nothing else is waited for with it.
  if (environment.services->load_files) {
    AG_ASSIGN_OR_RETURN(files, environment.services->load_files(environment, request.messages));
  }
  request.parameters_json = agent.parameters_json;
  request.deadline = environment.deadline;
  return request;
}

bool Streams(const Agent& agent) {
  return agent.stream && agent.output_field.empty();
}

// The text that a model had written when the run's budget ended its call.
models::ModelReply PartialReply(std::string text, const Usage& usage) {
  models::ModelReply reply;
  reply.message = Message::Assistant(std::move(text));
  reply.message.usage = usage;
  reply.stop_reason = "budget";
  return reply;
}

// `partial`: the text that the model had sent when a budget cut its reply; otherwise unused.
[[gnu::noinline]] Result<NodeResult> ResultOf(const NodeRun& run, const Agent& agent,
                                              const std::string& message_id, MeteredReply& metered,
                                              std::string&& partial, int64_t duration_micros) {
  Result<models::ModelReply>& reply = metered.reply;
  if (reply.status().code() == StatusCode::kBudgetExceeded && !partial.empty()) {
    reply = PartialReply(std::move(partial), metered.usage);
  }
  if (reply.ok()) Complete(*reply, message_id, run.thread.state());
  run.log.Add(ModelCallEntry(run.node.name, agent.model, message_id, metered, duration_micros));
  if (!reply.ok()) return reply.status();
  if (agent.output_field.empty()) return NodeResult(std::move(reply->message));
  return NodeResult().Set(agent.output_field, reply->message.Text());
}

Result<NodeResult> RunAgent(const NodeRun& run, const Agent& agent) {
  const RunEnvironment& environment = *run.environment;
  if (environment.FindModel(agent.model) == nullptr) return NoSuchModel(agent.model);
  std::shared_ptr<void> files;
  Result<models::ModelRequest> request = MakeRequest(environment, agent, run.thread.state(), files);
  if (!request.ok()) return request.status();
  const std::string message_id =
      run.message_id.empty() ? environment.services->ids->Next() : run.message_id;
  run.thread.Announce(message_id);
  std::string partial;  // kept only if a budget may cut the reply
  auto on_delta = [&](const models::ModelDelta& delta) {
    AG_RETURN_IF_ERROR(run.emitter.AwaitPiece(delta.bytes()));
    if (environment.meter != nullptr) partial += delta.text;
    run.emitter.HoldPiece(Streams(agent) ? delta.hidden_bytes : delta.bytes());
    if (!Streams(agent)) return Status::Ok();
    return run.emitter.EmitPiece(message_id, delta.text, delta.reasoning);
  };
  const bool forces_tool = request->forces_tool;
  const int64_t started_micros = UnixMicros();
  MeteredReply metered = [&] {
    // A node that is executed once is not cut when the run leaves, because no other attempt may
    // repeat its call.
    const HandOver::RepeatableWork work(run.node.once ? nullptr : environment.hand_over.get());
    return CallModel(environment, agent.model, *std::move(request), on_delta);
  }();
  const int64_t duration_micros = UnixMicros() - started_micros;
  if (metered.reply.ok()) {
    run.emitter.AwaitReply();
    if (forces_tool) environment.tool_was_forced->store(true);
  }
  return ResultOf(run, agent, message_id, metered, std::move(partial), duration_micros);
}

// Distinguishes the timeout of the node from the deadline of the run.
[[gnu::noinline]] void NameTimeout(const NodeRun& run, Result<NodeResult>& result) {
  const int64_t timeout_ms = run.node.timeout.count();
  if (result.status().code() != StatusCode::kDeadlineExceeded) return;
  if (timeout_ms == 0 || MonotonicClock::now() < run.environment->deadline) return;
  result = Status(
      StatusCode::kDeadlineExceeded,
      "node \"" + run.node.name + "\" did not finish within " + std::to_string(timeout_ms) + " ms");
}

class AgentNodeRunner final : public NodeRunner {
 public:
  bool StreamsOneMessage(const graph::Node& node) const override {
    return Streams(std::get<Agent>(node.kind));
  }
  Result<NodeResult> Run(const NodeRun& run) const override {
    Result<NodeResult> result = RunAgent(run, std::get<Agent>(run.node.kind));
    if (!result.ok()) NameTimeout(run, result);
    return result;
  }
};

}  // namespace

const NodeRunner& RunnerFor(const Agent&) {
  static const AgentNodeRunner runner;
  return runner;
}

}  // namespace agent_graph::run
