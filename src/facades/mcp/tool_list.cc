// tools/list: the agent, and the tools of its graph that clients may call.
#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"
#include "facades/mcp/agent_tool.h"
#include "facades/mcp/graph_tools.h"
#include "facades/mcp/methods.h"

namespace agent_graph::mcp {
namespace {

// The protocol demands the type "object", and objects as the schemas of properties. Clients refuse
// the whole list if one tool differs, while other JSON Schemas of objects are usual elsewhere.
std::string InputSchemaOf(const Tool& tool) {
  const Result<json> parsed = ParseJson(tool.parameters_json, kOwnJsonLimits);
  json schema = {{"type", "object"}};
  if (!parsed.ok() || !parsed->is_object()) return DumpJson(schema);
  for (const auto& [name, value] : parsed->items()) {
    if (name != "type") schema[name] = value;
  }
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return DumpJson(schema);
  for (auto& [name, property] : properties->items()) {
    if (property == true) property = json::object();
    if (property == false) property = {{"not", json::object()}};
  }
  return DumpJson(schema);
}

void AppendGraphTool(std::string& out, const Tool& tool) {
  out += "{\"name\":";
  AppendJsonString(out, tool.name);
  out += ",\"description\":";
  AppendJsonString(out, tool.description);
  out += ",\"inputSchema\":" + InputSchemaOf(tool);
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
