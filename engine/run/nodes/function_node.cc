#include "run/nodes/function_node.h"

#include <memory>
#include <string>
#include <utility>

#include "agent_graph/state.h"

#include "run/nodes/user_code.h"
#include "run/nodes/user_context.h"

namespace agent_graph::run {
namespace {

// Everything that the function accesses. Shared, so that an abandoned function may outlive its run.
struct FunctionCall {
  RunEnvironmentPtr environment;  // keeps the graph alive, and with it the function
  std::shared_ptr<const State> state;
  std::shared_ptr<FunctionContext> context;
  NodeResult result;
};

// Assigns the id of the streamed deltas to the function's first assistant message without an id.
void NameEmittedMessage(NodeResult& result, const std::string& message_id) {
  if (message_id.empty()) return;
  for (Message& message : result.messages) {
    if (message.role != Role::kAssistant || !message.id.empty()) continue;
    message.id = message_id;
    return;
  }
}

Status Describe(const Status& failure, const std::string& name, const graph::FunctionNode& node) {
  const std::string label = "node \"" + name + "\"";
  switch (failure.code()) {
    case StatusCode::kDeadlineExceeded:
      return Status(failure.code(), label + " did not finish within " +
                                        std::to_string(node.timeout.count()) + " ms");
    case StatusCode::kGraph:
      return Status(failure.code(), label + " " + failure.message()).WithDetail(failure.detail());
    default:
      return Status(failure.code(), label + ": " + failure.message()).WithDetail(failure.detail());
  }
}

Result<NodeResult> CallFunction(const NodeRun& run, const graph::FunctionNode& node) {
  const std::string& name = run.node.name;
  const Deadline deadline = run.environment->DeadlineOf(node.timeout);
  auto emission = std::make_shared<UserEmission>(run);
  auto call = std::make_shared<FunctionCall>();
  call->environment = run.environment;
  call->state = run.thread.shared_state();
  call->context =
      std::make_shared<FunctionContext>(run.environment, name, run.step, deadline, emission);
  auto work = [call, function = &node.function] {
    call->result = (*function)(*call->state, *call->context);
  };
  Status status = CallUserCode(*run.environment, node.execution, work, name, deadline);
  emission->Close();
  if (status.code() == StatusCode::kGraph) {
    // The exception that a budget causes is not a mistake of the function.
    AG_RETURN_IF_ERROR(call->context->budget_failure());
  }
  if (!status.ok()) return Describe(status, name, node);
  NameEmittedMessage(call->result, call->context->emitted_message_id());
  for (const Message& message : call->result.messages) {
    if (call->context->HasMadeId(message.id)) run.thread.Announce(message.id);
  }
  return std::move(call->result);
}

class FunctionNodeRunner final : public NodeRunner {
 public:
  Result<NodeResult> Run(const NodeRun& run) const override {
    Result<NodeResult> result = CallFunction(run, std::get<graph::FunctionNode>(run.node.kind));
    if (!result.ok()) run.thread.Detach();
    return result;
  }
  bool ExecutesUserCode(const graph::Node& /*node*/) const override { return true; }
  bool IsInstant(const graph::Node& node) const override {
    // The log must show that a node was reached which no other worker may repeat.
    if (node.once) return false;
    return std::get<graph::FunctionNode>(node.kind).execution == Execution::kNonBlocking;
  }
};

}  // namespace

const NodeRunner& RunnerFor(const graph::FunctionNode&) {
  static const FunctionNodeRunner runner;
  return runner;
}

}  // namespace agent_graph::run
