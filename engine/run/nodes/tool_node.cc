#include "run/nodes/tool_node.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/sized_json.h"
#include "graph/flatten.h"
#include "message/broken_arguments.h"
#include "run/context/handed_out_calls.h"
#include "run/context/run_meter.h"
#include "run/hand_over.h"
#include "run/nodes/call_settlement.h"
#include "run/nodes/concurrently.h"
#include "run/nodes/node_tools.h"
#include "run/nodes/tool_call.h"
#include "run/nodes/tool_memory.h"
#include "run/nodes/user_code.h"

namespace agent_graph::run {
namespace {

// Returns an error text for the model, which may correct its call.
std::string Describe(const std::string& tool, const std::vector<std::string>& problems) {
  std::string text = "the arguments of \"" + tool + "\" do not fit its schema";
  for (size_t i = 0; i < problems.size(); ++i) text += (i == 0 ? ": " : "; ") + problems[i];
  return text;
}

// Finds the tool and parses the arguments; on failure sets the call's result.
void Resolve(PendingCall& call, const OfferedTools& tools) {
  const OfferedTool* offered = FindTool(tools, call.block.name);
  if (offered == nullptr) {
    call.result = Failure("there is no tool named \"" + call.block.name + "\"");
    return;
  }
  Result<json> arguments = ParseJson(call.block.arguments_json, kSizedJsonLimits);
  if (!arguments.ok() || !arguments->is_object() || message::AreBroken(*arguments)) {
    call.result = Failure("the arguments of \"" + call.block.name + "\" are not a JSON object");
    return;
  }
  if (offered->schema != nullptr) {
    const std::vector<std::string> problems = offered->schema->Check(*arguments);
    if (!problems.empty()) {
      call.result = Failure(Describe(call.block.name, problems));
      return;
    }
  }
  call.arguments = std::move(*arguments);
  call.tool = offered->tool;
  call.remote = offered->origin == tools::ToolOrigin::kRemote;
}

const Message* NewestCallingMessage(const State& state) {
  for (auto at = state.messages().rbegin(); at != state.messages().rend(); ++at) {
    if (at->role == Role::kAssistant && !at->ToolCalls().empty()) return &*at;
  }
  return nullptr;
}

std::vector<PendingCallPtr> CollectCalls(const RunEnvironmentPtr& environment,
                                         const std::string& node, const State& state,
                                         const OpenInputs* inputs, const LostCalls* earlier) {
  std::vector<PendingCallPtr> calls;
  const std::vector<const ToolCallBlock*> pending = state.PendingToolCalls();
  const Message* message = NewestCallingMessage(state);
  if (message == nullptr) return calls;
  const std::vector<const ToolCallBlock*> all = message->ToolCalls();
  if (pending.empty()) return calls;
  const std::unordered_set<std::string> handed_out = HandedOutCalls(state);
  const OfferedTools tools =
      ToolsOf(environment->graph, node, environment->services->catalog,
              environment->remote_tools.get(), environment->cancellation, environment->deadline);
  auto place = all.begin();  // the pending calls are in the same order
  for (const ToolCallBlock* block : pending) {
    place = std::find(place, all.end(), block);
    if (block->remote) continue;  // the client executes it
    auto call = std::make_shared<PendingCall>();
    call->environment = environment;
    call->block = *block;
    const auto index = static_cast<size_t>(place - all.begin());
    call->idempotency_key = IdempotencyKey(environment->thread_id, message->id, index);
    call->handed_out = handed_out.contains(block->id);
    if (Settle(earlier, inputs != nullptr, *call) ||
        (inputs != nullptr && !TakeAnswers(*inputs, *call))) {
      // The tool is not called, or it is looked up when the call is executed again.
    } else if (calls.size() < kToolCallsMax) {
      Resolve(*call, tools);
    } else {
      call->result = Failure("more than " + std::to_string(kToolCallsMax) + " calls at once");
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

// Why an output must not be stored and shown; "" if it may.
std::string OutputProblem(const ToolOutput& output, const std::string& name) {
  if (output.json.size() > kToolOutputBytesMax) {
    return "the output of \"" + name + "\" is larger than " + std::to_string(kToolOutputBytesMax) +
           " bytes";
  }
  if (!ParseJson(output.json, kSizedJsonLimits).ok()) {
    return "the output of \"" + name + "\" is not valid JSON";
  }
  return "";
}

std::string Explain(const Status& failure, const PendingCall& call) {
  const std::string label = "\"" + call.block.name + "\"";
  switch (failure.code()) {
    case StatusCode::kDeadlineExceeded:
      return label + " did not finish within " + std::to_string(call.tool->timeout.count()) + " ms";
    case StatusCode::kCancelled:
      return label + " was cancelled";
    case StatusCode::kGraph:
      return label + " " + failure.message();
    default:
      return label + " failed: " + failure.message();
  }
}

// The model receives `problem`; the log also has the text of an exception that clients do not see.
void Fail(PendingCall& call, const std::string& node, const std::string& problem,
          const std::string& detail = "") {
  call.environment->Log(LogLevel::kWarning, node,
                        "tool call: " + problem + (detail.empty() ? "" : ": " + detail));
  call.result = Failure(problem);
}

// Handles a tool that needs answers of the user before it can continue.
void Ask(PendingCall& call) {
  tools::CallPause& pause = *call.input->pause;
  if (call.rounds == tools::kQuestionRoundsMax) {
    call.result = Failure("\"" + call.block.name + "\" asks the user again and again");
    return;
  }
  std::vector<json> answers(pause.questions.size());
  call.asks = OpenInput{call.block.id, call.block.name, call.rounds + 1, std::move(pause),
                        std::move(answers)};
}

void Execute(const PendingCallPtr& call, const std::string& node_name,
             tools::ReplyMemory* reply_memory) {
  const RunEnvironment& environment = *call->environment;
  call->started_micros = UnixMicros();
  if (environment.cancellation.cancelled()) {
    call->result = Failure("\"" + call->block.name + "\" was cancelled before it started");
  } else {
    const Deadline deadline = environment.DeadlineOf(call->tool->timeout);
    call->context = std::make_unique<CallContext>(call->environment, node_name, call->block.id,
                                                  call->idempotency_key, deadline,
                                                  call->input ? &*call->input : nullptr);
    // Code on another thread may outlive the call.
    if (call->tool->execution == Execution::kNonBlocking) {
      call->context->SetReplyMemory(reply_memory);
    }
    auto work = [call] { call->output = call->tool->function(call->arguments, *call->context); };
    Status status = CallUserCode(environment, call->tool->execution, work,
                                 node_name + "/" + call->block.name, deadline);
    if (!status.ok()) {
      Fail(*call, node_name, Explain(status, *call), status.detail());
    } else if (call->input && call->input->pause) {
      Ask(*call);
    } else if (const std::string problem = OutputProblem(call->output, call->block.name);
               !problem.empty()) {
      Fail(*call, node_name, problem);
    } else {
      call->result = std::move(call->output);
    }
  }
  call->finished_micros = UnixMicros();
  // The clock may have been set back.
  const int64_t took = std::max<int64_t>(call->finished_micros - call->started_micros, 0);
  if (NamedDurations* counted = environment.services->tool_calls) {
    counted->Add(call->block.name, static_cast<uint64_t>(took));
  }
}

void AppendRemoteCalls(std::string& out, const std::vector<PendingCallPtr>& calls) {
  out += "\"remote_tool_calls\":[";
  for (const PendingCallPtr& call : calls) {
    out += call == calls.front() ? "{\"id\":" : ",{\"id\":";
    AppendJsonString(out, call->block.id);
    out += ",\"name\":";
    AppendJsonString(out, call->block.name);
    out.push_back('}');
  }
  out.push_back(']');
}

// Pauses the run; it resumes at this node when the client has sent results or answers.
void PauseForClient(const std::vector<PendingCallPtr>& remote, const OpenInputs& inputs,
                    const std::string& node, NodeResult& result) {
  Interrupt interrupt{"", "{"};
  if (!remote.empty()) {
    interrupt.reason = "the client has tools to run";
    AppendRemoteCalls(interrupt.data_json, remote);
  }
  const auto add = [&](const std::string& reason, const std::string& member,
                       const std::string& list) {
    interrupt.reason += interrupt.reason.empty() ? reason : ", and " + reason;
    interrupt.data_json += interrupt.data_json.size() == 1 ? "" : ",";
    interrupt.data_json += "\"" + member + "\":" + list;
  };
  if (inputs.has_questions()) {
    add("a tool asks the user", "elicitations", inputs.ElicitationsJson());
  }
  if (std::string undecided = inputs.UndecidedJson(); !undecided.empty()) {
    add("a tool call may have taken effect", "undecided_tool_calls", undecided);
  }
  interrupt.data_json.push_back('}');
  result.interrupt = std::move(interrupt);
  // A jump is relative to the graph that contains the node.
  result.go_to = node.substr(graph::ScopeOf(node).size());
}

// Replaces the earlier questions by those of the calls that ask now.
void KeepQuestions(const std::vector<PendingCallPtr>& calls, OpenInputs& inputs) {
  inputs = OpenInputs();
  for (const PendingCallPtr& call : calls) {
    if (!call->asks) continue;
    const Status kept = inputs.Keep(*call->asks);
    if (kept.ok()) continue;
    call->asks.reset();
    call->result = Failure("\"" + call->block.name + "\" cannot ask: " + kept.message());
  }
}

// Logs the intents. They are durable before a tool starts that must not run twice.
Status LogIntents(std::span<const PendingCallPtr> calls, const std::string& name, int64_t step,
                  RunLog& log) {
  bool durable = false;
  for (const PendingCallPtr& call : calls) {
    log.Add(IntentEntry(name, *call));
    durable = durable || !call->tool->idempotent;
  }
  return durable ? log.Flush(name, step, /*durable=*/true) : Status::Ok();
}

// Logs the end of each call while others are running, so that only those are lost if the worker
// dies. All calls' fibers are on one thread. If no flush is in progress, the fiber flushes for all.
class EndLog {
 public:
  EndLog(const std::string& node, int64_t step, size_t calls, RunLog& log)
      : node_(node), step_(step), running_(calls), log_(log) {}

  void Ended(const PendingCall& call) {
    log_.Add(StartedEntry(node_, call));
    --running_;
    if (call.asks) {
      log_.Add(PausedEntry(node_, call));
    } else {
      log_.Add(FinishedEntry(node_, call, running_ > 0));
    }
    dirty_ = true;
    if (flushing_) return;
    flushing_ = true;
    // The end of the last call is appended together with the end of the node.
    while (dirty_ && running_ > 0 && status_.ok()) {
      dirty_ = false;
      status_ = log_.Flush(node_, step_);
    }
    flushing_ = false;
  }
  const Status& status() const { return status_; }

 private:
  const std::string& node_;
  const int64_t step_;
  size_t running_;
  RunLog& log_;
  bool dirty_ = false;
  bool flushing_ = false;
  Status status_;
};

// True if the call failed because another worker continues the run, which makes the call again.
bool WasCut(const PendingCall& call) {
  const RunEnvironment& environment = *call.environment;
  return call.result.is_error && environment.hand_over != nullptr &&
         environment.cancellation.reason() == runtime::CancelReason::kShutdown;
}

// Calls that are executed at the same time. Returns an error if one of them was cut.
Status ExecuteWave(const RunEnvironment& environment, std::span<const PendingCallPtr> calls,
                   const std::string& name, EndLog& ends, ToolMemory* memory) {
  const bool repeatable =
      std::ranges::all_of(calls, [](const auto& call) { return call->tool->idempotent; });
  const HandOver::RepeatableWork work(repeatable ? environment.hand_over.get() : nullptr);
  bool cut = false;
  ForEachConcurrently(*environment.runtime, calls.size(), kToolCallsAtOnce, [&](size_t index) {
    PendingCall& call = *calls[index];
    std::optional<ToolMemory::Reply> reply;
    if (memory != nullptr) reply.emplace(*memory, environment.DeadlineOf(call.tool->timeout));
    Execute(calls[index], name, reply ? &*reply : nullptr);
    if (memory != nullptr) memory->Keep(call.result.json);
    reply.reset();
    if (WasCut(call)) {
      cut = true;
    } else {
      ends.Ended(call);
    }
  });
  if (cut) return Status(StatusCode::kCancelled, "another worker continues the run");
  return ends.status();
}

// Logs the intents of one wave after the other, so that the calls of a wave that has not begun when
// the worker dies are known not to have taken effect.
Status ExecuteAll(const RunEnvironment& environment, std::span<const PendingCallPtr> calls,
                  const std::string& name, int64_t step, RunLog& log, CallMemory* call_memory) {
  EndLog ends(name, step, calls.size(), log);
  std::optional<ToolMemory> memory;
  if (call_memory != nullptr) memory.emplace(*call_memory, environment.cancellation);
  while (!calls.empty()) {
    const auto wave = calls.first(std::min(calls.size(), kToolCallsAtOnce));
    calls = calls.subspan(wave.size());
    AG_RETURN_IF_ERROR(LogIntents(wave, name, step, log));
    AG_RETURN_IF_ERROR(ExecuteWave(environment, wave, name, ends, memory ? &*memory : nullptr));
  }
  return Status::Ok();
}

class ToolNodeRunner final : public NodeRunner {
 public:
  bool ExecutesUserCode(const graph::Node& node) const override {
    return !std::get<graph::ToolNode>(node.kind).tools.empty();
  }
  Result<NodeResult> Run(const NodeRun& run) const override {
    return RunToolNode(run.environment, run.node.name, run.thread.state(), run.step, run.log,
                       {run.inputs, run.earlier, &run.emitter});
  }
};

}  // namespace

Result<NodeResult> RunToolNode(const RunEnvironmentPtr& environment, const std::string& name,
                               const State& state, int64_t step, RunLog& log,
                               const ToolNodeOptions& options) {
  OpenInputs* const inputs = options.inputs;
  const std::vector<PendingCallPtr> calls =
      CollectCalls(environment, name, state, inputs, options.earlier);
  std::vector<PendingCallPtr> runnable;
  std::vector<PendingCallPtr> remote;
  for (const PendingCallPtr& call : calls) {
    if (call->tool != nullptr) (call->remote ? remote : runnable).push_back(call);
  }
  if (environment->meter != nullptr) {
    const auto is_new = [](const PendingCallPtr& call) { return !call->handed_out; };
    const auto new_calls = static_cast<int64_t>(runnable.size()) +
                           static_cast<int64_t>(std::ranges::count_if(remote, is_new));
    AG_RETURN_IF_ERROR(environment->meter->BeginToolCalls(new_calls));
  }
  AG_RETURN_IF_ERROR(ExecuteAll(*environment, runnable, name, step, log, options.memory));
  if (inputs != nullptr) KeepQuestions(calls, *inputs);

  NodeResult result;
  for (const PendingCallPtr& call : calls) {
    if (call->asks) continue;
    if (call->remote) {
      if (call->handed_out) continue;
      log.Add(IntentEntry(name, *call));
      result.messages.push_back(RemoteCallMessage(*call));
      continue;
    }
    if (call->tool == nullptr && !call->end_is_logged) {
      log.Add(FinishedEntry(name, *call, false));
    }
    result.messages.push_back(ResultMessage(*call));
  }
  const bool asks = inputs != nullptr && !inputs->empty();
  if (!remote.empty() || asks) {
    PauseForClient(remote, asks ? *inputs : OpenInputs(), name, result);
  }
  return result;
}

const NodeRunner& RunnerFor(const graph::ToolNode&) {
  static const ToolNodeRunner runner;
  return runner;
}

}  // namespace agent_graph::run
