// The "oauth" of an MCP server in a graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent_graph/tool_sources.h"
#include "base/environment.h"
#include "base/status.h"
#include "net/http_client.h"
#include "tools/mcp/oauth/authorizer.h"

namespace agent_graph::tools::mcp::oauth {

// kInvalidArgument, "<key>: <problem>", for what is wrong whatever the environment holds.
Status CheckOAuth(const McpServer& server);

// For a server with `oauth` at `url`, which is expanded. Values of the environment and credentials
// are appended to `secrets`. kInvalidArgument, "oauth.<key>: <problem>".
Result<std::shared_ptr<Authorizer>> MakeAuthorizer(const McpServer& server, const std::string& url,
                                                   const Environment& environment,
                                                   std::shared_ptr<const net::HttpClient> http,
                                                   std::vector<std::string>& secrets);

}  // namespace agent_graph::tools::mcp::oauth
