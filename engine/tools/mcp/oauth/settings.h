// The "oauth" setting of an MCP server in a graph.
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

// Checks everything that does not depend on the environment. Returns kInvalidArgument with the text
// "<key>: <problem>".
Status CheckOAuth(const McpServer& server);

// Makes the authorizer of a server with `oauth`; `url` is already expanded. Appends values of the
// environment and credentials to `secrets`. Returns kInvalidArgument with the text "oauth.<key>:
// <problem>".
Result<std::shared_ptr<Authorizer>> MakeAuthorizer(const McpServer& server, const std::string& url,
                                                   const Environment& environment,
                                                   std::shared_ptr<const net::HttpClient> http,
                                                   std::vector<std::string>& secrets);

}  // namespace agent_graph::tools::mcp::oauth
