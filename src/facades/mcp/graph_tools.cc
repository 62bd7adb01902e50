#include "facades/mcp/graph_tools.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "api/resources/exchange_memory.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/own_json.h"
#include "facades/mcp/agent_tool.h"
#include "facades/mcp/asking.h"
#include "facades/mcp/call_reader.h"
#include "facades/mcp/call_writer.h"
#include "facades/mcp/input_required.h"
#include "facades/mcp/request_headers.h"
#include "facades/mcp/tool_cancellation.h"
#include "facades/mcp/tool_content.h"
#include "graph/compiled_graph.h"
#include "run/context/open_inputs.h"
#include "run/loop/runner.h"
#include "run/nodes/node_tools.h"

namespace agent_graph::mcp {
namespace {

using api::HandlerContext;

constexpr char kAllTools[] = "*";
constexpr std::chrono::seconds kToolsWaitMax{10};
constexpr char kCallId[] = "call";
// Rounds of questions of one call.
constexpr int kRoundsMax = 16;

std::string ResultMembers(const ToolOutput& output, const Peer& peer) {
  const Result<json> value = ParseJson(output.json, kOwnJsonLimits);
  if (!value.ok()) return FailedCall("the output of the tool cannot be read");
  std::string out;
  if (IsContent(*value, peer.revision)) {
    out = "\"content\":" + output.json;
  } else {
    out = R"("content":[{"type":"text","text":)";
    AppendJsonString(out, value->is_string() ? value->get_ref<const std::string&>() : output.json);
    out += "}]";
    if (value->is_object()) out += ",\"structuredContent\":" + output.json;
  }
  if (output.is_error) out += ",\"isError\":true";
  return out;
}

// The questions of a tool, by the keys that it has given them. Each key occurs once.
Pause PauseOf(const run::OpenInputs& inputs) {
  const Result<json> listed = ParseJson(inputs.ElicitationsJson(), kOwnJsonLimits);
  Pause pause{listed.ok() ? ReadQuestions(*listed) : std::vector<Question>(), /*by_tools=*/true};
  for (const run::OpenInput& input : inputs.calls()) {
    for (size_t i = 0; i < input.pause.questions.size(); ++i) {
      const auto found = std::ranges::find(pause.questions, input.IdOf(i), &Question::id);
      const std::string& key = input.pause.questions[i].key;
      const bool taken =
          std::ranges::find(pause.questions, key, &Question::key) != pause.questions.end();
      if (found != pause.questions.end() && !key.empty() && !taken) found->key = key;
    }
  }
  return pause;
}

// Puts the answers into the questions that wait for them. Returns what is wrong with an answer.
Status TakeAnswers(const Pause& pause, const std::vector<json>& answers, run::OpenInputs& inputs) {
  std::optional<std::vector<Message>> messages = AnswerMessages(pause, answers);
  return inputs.TakeAnswers(*messages);
}

// One call of a tool of the graph, with all its rounds of questions.
class GraphToolCall {
 public:
  GraphToolCall(const Call& call, const ToolCall& tool, const GraphTool& found)
      : call_(call),
        tool_(tool),
        found_(found),
        key_(CallKey(call.peer, call.message.id_json)),
        memory_(call.context.exchange()),
        writer_(call.context, call.message.id_json, TakesEvents(call.context.head())) {}

  // `inputs`: what the tool has asked in an earlier request, with the answers.
  void Execute(run::OpenInputs inputs) {
    const bool begins = inputs.empty();
    const std::string subject = NewUuid();
    for (int round = 0; round < kRoundsMax; ++round) {
      Result<run::CalledTool> called = CallOnce(std::move(inputs));
      if (!called.ok()) return Refuse(call_.context.Explain(called.status()));
      if (called->inputs.empty()) return Finish(ResultMembers(called->output, call_.peer));
      inputs = std::move(called->inputs);
      Pause pause = PauseOf(inputs);
      if (!CanAsk(call_.peer, pause.questions)) return RefuseToAsk(pause);
      std::vector<json> answers;
      switch (Ask(pause, inputs, subject + ' ' + std::to_string(round), begins && round == 0,
                  answers)) {
        case Asking::kAnswered:
          break;
        case Asking::kEnded:
          return;
      }
      if (const Status taken = TakeAnswers(pause, answers, inputs); !taken.ok()) {
        return Finish(FailedCall(taken.message()));
      }
    }
    Finish(FailedCall("the tool asks again and again"));
  }

 private:
  enum class Asking : uint8_t {
    kAnswered,
    kEnded,  // the exchange has ended
  };

  // `is_first`: the request may have brought the answers already.
  Asking Ask(const Pause& pause, const run::OpenInputs& inputs, const std::string& subject,
             bool is_first, std::vector<json>& answers) {
    if (call_.context.api().state == nullptr) {
      Finish(FailedCall("a tool that asks needs a checkpointer"));
      return Asking::kEnded;
    }
    if (call_.stateless()) {
      const InputReading early =
          is_first ? ReadEarlyAnswers(call_, pause, answers) : InputReading::kMissing;
      if (early == InputReading::kAnswered) return Asking::kAnswered;
      if (early == InputReading::kMissing) AskLater(pause, inputs);
      return Asking::kEnded;
    }
    if (!writer_.streams()) {
      RefuseToAsk(pause);
      return Asking::kEnded;
    }
    Result<std::vector<json>> asked = AskUser(
        {call_.context, call_.peer, writer_, key_, subject, /*resumable=*/false}, pause.questions);
    if (asked.ok()) {
      answers = *std::move(asked);
      return Asking::kAnswered;
    }
    EndUnasked(asked.status());
    return Asking::kEnded;
  }

  // Ends a call whose questions have not been answered.
  void EndUnasked(const Status& reason) {
    using runtime::CancelReason;
    const CancelReason ended = call_.context.exchange().cancellation().reason();
    if (ended == CancelReason::kDeadline) return Refuse({api::ApiError::kTimeout, "", {}});
    if (ended == CancelReason::kShutdown) return Refuse({api::ApiError::kShuttingDown, "", {}});
    const bool by_client = reason.code() == StatusCode::kCancelled;
    by_client ? writer_.Leave() : Refuse(call_.context.Explain(reason));
  }

  // Refuses a call whose tool asks the user: the client has not declared the capability
  // `elicitation`.
  void RefuseToAsk(const Pause& pause) {
    if (!call_.stateless()) return Finish(FailedCall("the tool asks the user of this client"));
    const bool form = std::ranges::any_of(
        pause.questions, [](const Question& question) { return question.url.empty(); });
    RpcError error{kMissingCapability, "the tool asks the user of this client", 400};
    error.data_json = form ? R"({"requiredCapabilities":{"elicitation":{"form":{}}}})"
                           : R"({"requiredCapabilities":{"elicitation":{"url":{}}}})";
    SendError(call_, error);
  }

  Result<run::CalledTool> CallOnce(run::OpenInputs inputs) {
    HandlerContext& context = call_.context;
    run::RunRequest request = api::RunRequestOf(context);
    request.config = api::GraphConfig(nullptr, context.caller());
    ToolCallBlock block{kCallId, tool_.name, DumpJson(*tool_.arguments)};
    std::optional<ToolCancellation> by_client;
    if (!call_.peer.session.empty()) by_client.emplace(context, key_);
    return context.api().runner->CallTool(
        request, found_.node, std::move(block), std::move(inputs),
        by_client ? by_client->cancellation() : context.exchange().cancellation(), memory_);
  }

  void AskLater(const Pause& pause, const run::OpenInputs& inputs) {
    const Result<std::string> asked = AskForInput(
        call_, {.digest = tool_.digest, .pause = pause, .inputs_json = inputs.ToJson()});
    if (!asked.ok()) return Refuse(call_.context.Explain(asked.status()));
    writer_.Finish(*asked);
  }

  void Refuse(const api::ErrorInfo& error) {
    if (IsCancelledByClient()) return writer_.Leave();
    writer_.begun() ? writer_.Fail(error) : SendFailedCall(call_, error);
  }

  // The client then wants no response.
  bool IsCancelledByClient() {
    if (call_.peer.session.empty()) return false;
    const Result<bool> cancelled = IsCancelled(call_.context, key_);
    return cancelled.ok() && *cancelled;
  }

  void Finish(const std::string& members) {
    if (IsCancelledByClient()) return writer_.Leave();
    writer_.Finish(ResultOf(call_, members));
  }

  const Call& call_;
  const ToolCall& tool_;
  const GraphTool& found_;
  const std::string key_;
  api::ExchangeMemory memory_;
  CallWriter writer_;
};

}  // namespace

std::vector<GraphTool> FindGraphTools(HandlerContext& context) {
  std::vector<GraphTool> found;
  const std::vector<std::string>& tags = context.api().settings->facades.mcp.tools;
  if (tags.empty()) return found;
  const bool all = std::ranges::find(tags, kAllTools) != tags.end();
  const std::string agent = AgentToolName(context);
  const auto& graph = context.api().graph;
  for (const graph::Node& node : graph->nodes()) {
    run::OfferedTools offered =
        run::ToolsOf(graph, node.name, context.api().catalog, nullptr,
                     context.exchange().cancellation(), DeadlineAfter(kToolsWaitMax));
    if (!all) offered = run::WithTags(std::move(offered), tags);
    for (run::OfferedTool& tool : offered) {
      const auto same = [&](const GraphTool& other) { return other.tool->name == tool.tool->name; };
      if (tool.tool->name == agent || std::ranges::any_of(found, same)) continue;
      found.push_back({std::move(tool.tool), node.name});
    }
  }
  return found;
}

std::optional<GraphTool> FindGraphTool(HandlerContext& context, const std::string& name) {
  for (GraphTool& tool : FindGraphTools(context)) {
    if (tool.tool->name == name) return std::move(tool);
  }
  return std::nullopt;
}

void CallGraphTool(const Call& call, const ToolCall& tool, const GraphTool& found) {
  GraphToolCall running(call, tool, found);
  const bool repeats =
      call.stateless() && api::FindMember(*call.message.params, "requestState") != nullptr;
  if (!repeats) return running.Execute({});
  PausedCall paused;
  std::vector<json> answers;
  const InputReading reading = ReadInput(call, tool.digest, paused, answers);
  if (reading == InputReading::kRefused) return;
  if (reading == InputReading::kMissing) {
    const Result<std::string> asked = AskForInput(call, paused);
    return asked.ok() ? SendResult(call, *asked) : SendFailure(call, asked.status());
  }
  run::OpenInputs inputs = run::OpenInputs::FromJson(paused.inputs_json);
  if (const Status taken = TakeAnswers(paused.pause, answers, inputs); !taken.ok()) {
    return SendResult(call, ResultOf(call, FailedCall(taken.message())));
  }
  running.Execute(std::move(inputs));
}

}  // namespace agent_graph::mcp
