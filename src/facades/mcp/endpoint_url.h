// Addresses of the service as the client has them.
#pragma once

#include <string>

#include "api/http/context.h"

namespace agent_graph::mcp {

// The address of the endpoint: facades.mcp.url, or what the request says.
std::string EndpointUrl(const api::HandlerContext& context);
// The address of the files, to which a file's id is appended.
std::string FilesUrl(const api::HandlerContext& context);

}  // namespace agent_graph::mcp
