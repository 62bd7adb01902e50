// Tools that call HTTP services.
#pragma once

#include <memory>

#include "agent_graph/tool.h"
#include "agent_graph/tool_sources.h"
#include "base/environment.h"
#include "base/status.h"
#include "net/http_client.h"

namespace agent_graph::tools {

// Checks everything about `tool` that does not depend on the environment. The error text starts
// with the member's name.
Status CheckHttpTool(const HttpTool& tool);

// Makes a tool that runs on the calling fiber, suspends it, and needs an EngineToolContext. Returns
// kInvalidArgument if a variable is missing or the expanded URL is invalid; the text contains no
// secrets.
Result<Tool> MakeHttpTool(const HttpTool& tool, const Environment& environment,
                          std::shared_ptr<const net::HttpClient> client);

// Expands ${NAME} in the values of headers and appends the expanded values to `secrets`. An error
// names the header.
Result<net::HttpHeaders> ExpandHeaders(const net::HttpHeaders& headers,
                                       const Environment& environment,
                                       std::vector<std::string>& secrets);

}  // namespace agent_graph::tools
