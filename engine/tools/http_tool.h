// Calls of an HTTP service as tools.
#pragma once

#include <memory>

#include "agent_graph/tool.h"
#include "agent_graph/tool_sources.h"
#include "base/environment.h"
#include "base/status.h"
#include "net/http_client.h"

namespace agent_graph::tools {

// What is wrong with `tool`, whatever the environment: begins with the member's name. Ok: nothing.
Status CheckHttpTool(const HttpTool& tool);

// A tool that runs on the calling fiber and needs an EngineToolContext. kInvalidArgument when a
// variable is missing or the URL with its variables is not usable; the text holds no secret.
Result<Tool> MakeHttpTool(const HttpTool& tool, const Environment& environment,
                          std::shared_ptr<const net::HttpClient> client);

// Expands ${NAME} in the values of headers. A failure names the header.
Result<net::HttpHeaders> ExpandHeaders(const net::HttpHeaders& headers,
                                       const Environment& environment,
                                       std::vector<std::string>& secrets);

}  // namespace agent_graph::tools
