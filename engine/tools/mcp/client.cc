#include "tools/mcp/client.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace agent_graph::tools::mcp {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kFreshMax = std::chrono::hours(24);

// The shortest time that a page gives, 0 when one gives none.
void TakeFreshness(const json& result, bool first_page, std::chrono::milliseconds& fresh) {
  const json told = result.value("ttlMs", json());
  const int64_t milliseconds =
      told.is_number_integer() ? std::clamp<int64_t>(told.get<int64_t>(), 0, kFreshMax.count()) : 0;
  const std::chrono::milliseconds page(milliseconds);
  fresh = first_page ? page : std::min(fresh, page);
}

}  // namespace

Result<ListedTools> Client::ListTools(const Patience& patience) {
  ListedTools listed;
  Outgoing outgoing{.method = "tools/list"};
  size_t bytes = 0;
  for (size_t page = 0; page < kListPagesMax; ++page) {
    AG_ASSIGN_OR_RETURN(RpcReply reply, Request(outgoing, patience));
    if (reply.error) return reply.error->ToStatus();
    const auto list = reply.result.find("tools");
    if (list == reply.result.end() || !list->is_array()) {
      return Status(StatusCode::kUnavailable, "the list of tools has no \"tools\"");
    }
    bytes += DumpJson(*list).size();
    if (listed.tools.size() + list->size() > kListedToolsMax || bytes > kListBytesMax) {
      return Status(StatusCode::kResourceExhausted, "the list of tools is too long");
    }
    for (json& tool : *list) listed.tools.push_back(std::move(tool));
    TakeFreshness(reply.result, page == 0, listed.fresh);
    const auto cursor = reply.result.find("nextCursor");
    if (cursor == reply.result.end() || !cursor->is_string()) {
      listed.marks_headers = marks_headers();
      return listed;
    }
    outgoing.params["cursor"] = *cursor;
  }
  return Status(StatusCode::kResourceExhausted,
                "the list of tools has more than " + std::to_string(kListPagesMax) + " pages");
}

Result<json> Client::CallTool(const std::string& name, const json& arguments,
                              net::HttpHeaders headers, const Patience& patience) {
  const Outgoing outgoing{.method = kCallTool,
                          .params = {{"name", name}, {"arguments", arguments}},
                          .name = name,
                          .headers = std::move(headers)};
  AG_ASSIGN_OR_RETURN(RpcReply reply, Request(outgoing, patience));
  if (reply.error) return reply.error->ToStatus();
  const json type = reply.result.value("resultType", json("complete"));
  if (type != "complete") {
    return Status(StatusCode::kUnavailable, "the server's result is of an unknown type");
  }
  return std::move(reply.result);
}

}  // namespace agent_graph::tools::mcp
