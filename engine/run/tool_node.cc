#include "run/tool_node.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/sha256.h"
#include "graph/flatten.h"
#include "run/concurrently.h"
#include "run/handed_out_calls.h"
#include "run/node_tools.h"
#include "run/user_code.h"
#include "run/user_context.h"

namespace agent_graph::run {
namespace {

using nlohmann::json;

constexpr size_t kIdempotencyKeyDigits = 32;

// Everything one call touches, so that a tool that was given up may outlive its run.
struct PendingCall {
  RunEnvironmentPtr environment;
  std::shared_ptr<const Tool> tool;  // null: refused, `result` says why
  bool remote = false;               // the client's to make; there is no result yet
  bool handed_out = false;           // and the client was told
  ToolCallBlock block;
  std::string idempotency_key;
  json arguments;
  std::unique_ptr<CallContext> context;
  ToolOutput output;  // the tool's, valid once it has returned

  ToolOutput result;  // what the model is told; written by the run's fibers only
  int64_t started_micros = 0;
  int64_t finished_micros = 0;
};

using PendingCallPtr = std::shared_ptr<PendingCall>;

ToolOutput Failure(const std::string& text) {
  ToolOutput output;
  output.json = "{\"error\":";
  AppendJsonString(output.json, text);
  output.json.push_back('}');
  output.is_error = true;
  return output;
}

// For the model, which may try again.
std::string Describe(const std::string& tool, const std::vector<std::string>& problems) {
  std::string text = "the arguments of \"" + tool + "\" do not fit its schema";
  for (size_t i = 0; i < problems.size(); ++i) text += (i == 0 ? ": " : "; ") + problems[i];
  return text;
}

// Finds the tool and reads the arguments; on failure the call has its result already.
void Resolve(PendingCall& call, const OfferedTools& tools) {
  const OfferedTool* offered = FindTool(tools, call.block.name);
  if (offered == nullptr) {
    call.result = Failure("there is no tool named \"" + call.block.name + "\"");
    return;
  }
  Result<json> arguments = ParseJson(call.block.arguments_json);
  if (!arguments.ok() || !arguments->is_object()) {
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

// The key is that of a place in the thread: the same call made again after a crash has it, too. A
// digest, because clients choose ids: a key goes into headers, and one thread must not have the key
// of another one.
std::string IdempotencyKey(const std::string& thread_id, const std::string& message_id,
                           size_t index) {
  const std::string place = thread_id + '\0' + message_id + '\0' + std::to_string(index);
  return Sha256Hex(place).substr(0, kIdempotencyKeyDigits);
}

const Message* NewestCallingMessage(const State& state) {
  for (auto at = state.messages().rbegin(); at != state.messages().rend(); ++at) {
    if (at->role == Role::kAssistant && !at->ToolCalls().empty()) return &*at;
  }
  return nullptr;
}

std::vector<PendingCallPtr> CollectCalls(const RunEnvironmentPtr& environment,
                                         const std::string& node, const State& state) {
  std::vector<PendingCallPtr> calls;
  const std::vector<const ToolCallBlock*> pending = state.PendingToolCalls();
  const Message* message = NewestCallingMessage(state);
  if (message == nullptr) return calls;
  const std::vector<const ToolCallBlock*> all = message->ToolCalls();
  if (pending.empty()) return calls;
  const std::unordered_set<std::string> handed_out = HandedOutCalls(state);
  const OfferedTools tools =
      ToolsOf(environment->graph, node, environment->catalog, environment->remote_tools.get(),
              environment->cancellation, environment->deadline);
  for (const ToolCallBlock* block : pending) {
    if (block->remote) continue;  // the client's to run
    auto call = std::make_shared<PendingCall>();
    call->environment = environment;
    call->block = *block;
    size_t index = static_cast<size_t>(std::find(all.begin(), all.end(), block) - all.begin());
    call->idempotency_key = IdempotencyKey(environment->thread_id, message->id, index);
    call->handed_out = handed_out.contains(block->id);
    if (calls.size() < kToolCallsMax) {
      Resolve(*call, tools);
    } else {
      call->result = Failure("more than " + std::to_string(kToolCallsMax) + " calls at once");
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

// What the tool answered, if it may be stored and shown.
ToolOutput CheckedOutput(const ToolOutput& output, const std::string& name) {
  if (output.json.size() > kToolOutputBytesMax) {
    return Failure("the output of \"" + name + "\" is larger than " +
                   std::to_string(kToolOutputBytesMax) + " bytes");
  }
  if (!ParseJson(output.json).ok()) {
    return Failure("the output of \"" + name + "\" is not valid JSON");
  }
  return output;
}

ToolOutput Explain(const Status& failure, const PendingCall& call) {
  const std::string label = "\"" + call.block.name + "\"";
  switch (failure.code()) {
    case StatusCode::kDeadlineExceeded:
      return Failure(label + " did not finish within " +
                     std::to_string(call.tool->timeout.count()) + " ms");
    case StatusCode::kCancelled:
      return Failure(label + " was cancelled");
    case StatusCode::kGraph:
      return Failure(label + " " + failure.message());
    default:
      return Failure(label + " failed: " + failure.message());
  }
}

void Execute(const PendingCallPtr& call, const std::string& node_name) {
  const RunEnvironment& environment = *call->environment;
  call->started_micros = UnixMicros();
  if (environment.cancellation.cancelled()) {
    call->result = Failure("\"" + call->block.name + "\" was cancelled before it started");
  } else {
    const Deadline deadline = environment.DeadlineOf(call->tool->timeout);
    call->context = std::make_unique<CallContext>(call->environment, node_name, call->block.id,
                                                  call->idempotency_key, deadline);
    auto work = [call] { call->output = call->tool->function(call->arguments, *call->context); };
    Status status = CallUserCode(environment, call->tool->execution, work,
                                 node_name + "/" + call->block.name, deadline);
    if (!status.ok()) {
      environment.Log(LogLevel::kWarning, node_name,
                      "tool " + call->block.name + ": " + status.ToString());
    }
    call->result =
        status.ok() ? CheckedOutput(call->output, call->block.name) : Explain(status, *call);
  }
  call->finished_micros = UnixMicros();
}

std::string CallJson(const std::string& node_name, const PendingCall& call) {
  std::string out = "{\"node\":";
  AppendJsonString(out, node_name);
  out += ",\"tool\":";
  AppendJsonString(out, call.block.name);
  out += ",\"call_id\":";
  AppendJsonString(out, call.block.id);
  return out;
}

std::string IntentJson(const std::string& node_name, const PendingCall& call) {
  std::string out = CallJson(node_name, call) + ",\"idempotency_key\":";
  AppendJsonString(out, call.idempotency_key);
  if (call.remote) return out + ",\"remote\":true}";
  out += call.tool->idempotent ? ",\"idempotent\":true}" : ",\"idempotent\":false}";
  return out;
}

std::string StartedJson(const std::string& node_name, const PendingCall& call) {
  return CallJson(node_name, call) + ",\"micros\":" + std::to_string(call.started_micros) + "}";
}

std::string FinishedJson(const std::string& node_name, const PendingCall& call, bool with_output) {
  std::string out = CallJson(node_name, call);
  out += call.result.is_error ? ",\"is_error\":true" : ",\"is_error\":false";
  if (call.started_micros > 0) {
    out += ",\"micros\":" + std::to_string(call.finished_micros);
    out += ",\"duration_micros\":" + std::to_string(call.finished_micros - call.started_micros);
    // Until the message with it is written, too.
    if (with_output) out += ",\"output\":" + call.result.json;
  }
  out.push_back('}');
  return out;
}

Message ResultMessage(const PendingCall& call) {
  Message message = Message::ToolResult(call.block.id, call.result.json, call.result.is_error);
  message.metadata_json = "{\"tool_name\":";
  AppendJsonString(message.metadata_json, call.block.name);
  message.metadata_json.push_back('}');
  return message;
}

// What the client sees and runs.
Message RemoteCallMessage(const PendingCall& call) {
  Message message;
  message.role = Role::kTool;
  message.content.emplace_back(
      ToolCallBlock{call.block.id, call.block.name, call.block.arguments_json, true});
  message.metadata_json = "{\"is_remote\":true,\"tool_name\":";
  AppendJsonString(message.metadata_json, call.block.name);
  message.metadata_json.push_back('}');
  return message;
}

// The run goes on with this node when the client has brought results.
void PauseForClient(const std::vector<PendingCallPtr>& waiting, const std::string& node,
                    NodeResult& result) {
  Interrupt interrupt{"the client has tools to run", "{\"remote_tool_calls\":["};
  for (const PendingCallPtr& call : waiting) {
    if (call != waiting.front()) interrupt.data_json.push_back(',');
    interrupt.data_json += "{\"id\":";
    AppendJsonString(interrupt.data_json, call->block.id);
    interrupt.data_json += ",\"name\":";
    AppendJsonString(interrupt.data_json, call->block.name);
    interrupt.data_json.push_back('}');
  }
  interrupt.data_json += "]}";
  result.interrupt = std::move(interrupt);
  // A jump stays within the graph that has the node.
  result.go_to = node.substr(graph::ScopeOf(node).size());
}

// Intents go into the log first; they are on disk before a tool that must not run twice starts.
Status LogIntents(const std::vector<PendingCallPtr>& calls, const std::string& name, int64_t step,
                  RunLog& log) {
  bool durable = false;
  for (const PendingCallPtr& call : calls) {
    log.Add("tool_intent", IntentJson(name, *call));
    durable = durable || !call->tool->idempotent;
  }
  return durable ? log.Flush(name, step, /*durable=*/true) : Status::Ok();
}

// Tells the log how each call ended while others still run, so that a worker's death costs only
// those. The calls' fibers are on one thread: whoever finds nobody flushing does it for all.
class EndLog {
 public:
  EndLog(const std::string& node, int64_t step, size_t calls, RunLog& log)
      : node_(node), step_(step), running_(calls), log_(log) {}

  void Ended(const PendingCall& call) {
    log_.Add("tool_started", StartedJson(node_, call));
    --running_;
    log_.Add("tool_finished", FinishedJson(node_, call, running_ > 0));
    dirty_ = true;
    if (flushing_) return;
    flushing_ = true;
    // The last one's end goes out with the node's.
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

}  // namespace

Result<NodeResult> RunToolNode(const RunEnvironmentPtr& environment, const std::string& name,
                               const State& state, int64_t step, RunLog& log) {
  const std::vector<PendingCallPtr> calls = CollectCalls(environment, name, state);
  std::vector<PendingCallPtr> runnable;
  std::vector<PendingCallPtr> waiting;
  for (const PendingCallPtr& call : calls) {
    if (call->tool != nullptr) (call->remote ? waiting : runnable).push_back(call);
  }
  AG_RETURN_IF_ERROR(LogIntents(runnable, name, step, log));
  EndLog ends(name, step, runnable.size(), log);
  ForEachConcurrently(*environment->runtime, runnable.size(), kToolCallsAtOnce, [&](size_t index) {
    Execute(runnable[index], name);
    ends.Ended(*runnable[index]);
  });
  AG_RETURN_IF_ERROR(ends.status());

  NodeResult result;
  for (const PendingCallPtr& call : calls) {
    if (call->remote) {
      if (call->handed_out) continue;
      log.Add("tool_intent", IntentJson(name, *call));
      result.messages.push_back(RemoteCallMessage(*call));
      continue;
    }
    if (call->tool == nullptr) log.Add("tool_finished", FinishedJson(name, *call, false));
    result.messages.push_back(ResultMessage(*call));
  }
  if (!waiting.empty()) PauseForClient(waiting, name, result);
  return result;
}

}  // namespace agent_graph::run
