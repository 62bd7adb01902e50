// Runner::CallTool: one call of a tool without its graph.
#include <utility>

#include "agent_graph/state.h"
#include "run/context/run_meter.h"
#include "run/log/run_log.h"
#include "run/loop/runner.h"
#include "run/nodes/tool_node.h"

namespace agent_graph::run {

Result<CalledTool> Runner::CallTool(const RunRequest& request, const std::string& node,
                                    ToolCallBlock block, OpenInputs inputs,
                                    const runtime::Cancellation& cancellation,
                                    CallMemory& memory) const {
  AG_ASSIGN_OR_RETURN(const std::shared_ptr<RunEnvironment> environment,
                      MakeEnvironment(request, cancellation));
  environment->meter = StartMeter(*environment->config);
  environment->thread_id = environment->services->ids->Next();
  environment->remote_tools = nullptr;
  Message message = Message::Assistant("");
  message.id = environment->run_id;
  message.content = {std::move(block)};
  State state;
  state.mutable_messages().push_back(std::move(message));
  // Nothing is stored, so the log discards its entries.
  RunLog log(nullptr, environment->thread_id, environment->run_id, 0, /*record=*/false);
  CalledTool called;
  called.inputs = std::move(inputs);
  AG_ASSIGN_OR_RETURN(
      const NodeResult result,
      RunToolNode(environment, node, state, 0, log, {.inputs = &called.inputs, .memory = &memory}));
  if (!called.inputs.empty()) return called;
  for (const Message& answer : result.messages) {
    for (const ToolResultBlock* output : answer.ToolResults()) {
      called.output = ToolOutput::FromJsonText(output->output_json);
      called.output.is_error = output->is_error;
      return called;
    }
  }
  return Status(StatusCode::kInternal, "the tool has returned nothing");
}

}  // namespace agent_graph::run
