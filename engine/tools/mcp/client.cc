#include "tools/mcp/client.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "tools/mcp/protocol.h"

namespace agent_graph::tools::mcp {

using nlohmann::json;

Result<std::vector<json>> Client::ListTools(const Patience& patience) {
  std::vector<json> tools;
  json params = json::object();
  size_t bytes = 0;
  for (size_t page = 0; page < kListPagesMax; ++page) {
    AG_ASSIGN_OR_RETURN(json result, Request("tools/list", params, patience));
    const auto list = result.find("tools");
    if (list == result.end() || !list->is_array()) {
      return Status(StatusCode::kUnavailable, "the list of tools has no \"tools\"");
    }
    bytes += DumpJson(*list).size();
    if (tools.size() + list->size() > kListedToolsMax || bytes > kListBytesMax) {
      return Status(StatusCode::kResourceExhausted, "the list of tools is too long");
    }
    for (json& tool : *list) tools.push_back(std::move(tool));
    const auto cursor = result.find("nextCursor");
    if (cursor == result.end() || !cursor->is_string()) return tools;
    params["cursor"] = *cursor;
  }
  return Status(StatusCode::kResourceExhausted,
                "the list of tools has more than " + std::to_string(kListPagesMax) + " pages");
}

Result<json> Client::CallTool(const std::string& name, const json& arguments,
                              const Patience& patience) {
  return Request(kCallTool, {{"name", name}, {"arguments", arguments}}, patience);
}

}  // namespace agent_graph::tools::mcp
