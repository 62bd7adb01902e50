#include "live/transfer_tool.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::live {

std::string TransferTarget(const realtime::ToolCall& call) {
  Result<json> arguments = ParseJson(call.arguments_json);
  if (!arguments.ok() || !arguments->is_object()) return "";
  auto agent = arguments->find("agent");
  return agent != arguments->end() && agent->is_string() ? agent->get<std::string>() : "";
}

}  // namespace agent_graph::live
