// tools/list: the agent, and the tools of its graph that clients may call.
#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/mcp/agent_tool.h"
#include "facades/mcp/graph_tools.h"
#include "facades/mcp/input_schema.h"
#include "facades/mcp/methods.h"

namespace agent_graph::mcp {
namespace {

void AppendGraphTool(std::string& out, const Tool& tool) {
  out += "{\"name\":";
  AppendJsonString(out, tool.name);
  out += ",\"description\":";
  AppendJsonString(out, tool.description);
  out += ",\"inputSchema\":" + InputSchemaOf(tool.parameters_json);
  if (tool.idempotent) out += R"(,"annotations":{"idempotentHint":true})";
  out += '}';
}

}  // namespace

// The list is one page: it has no more tools than the graph.
void ListTools(const Call& call) {
  const json* cursor =
      call.message.params != nullptr ? api::FindMember(*call.message.params, "cursor") : nullptr;
  if (cursor != nullptr) {
    return SendError(call, {kInvalidParams, "params.cursor: is not one of this list"});
  }
  std::string members = "\"tools\":[" + AgentToolJson(call.context);
  for (const GraphTool& found : FindGraphTools(call.context)) {
    members += ',';
    AppendGraphTool(members, *found.tool);
  }
  SendResult(call, ListingOf(call, members + ']'));
}

}  // namespace agent_graph::mcp
