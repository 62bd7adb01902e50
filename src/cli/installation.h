// Finds nginx, the module and the SDK on this machine. A program in a build folder prefers what
// lies beside it.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph::cli {

// The path of nginx's program; `chosen` if it is not empty. The failure says what to do.
Result<std::string> FindNginx(const std::string& chosen);
// The path of ngx_http_agent_graph_module.so; `chosen` if it is not empty.
Result<std::string> FindModule(const std::string& chosen);
// The folder of the SDK's headers beside this program; empty if a compiler finds them by itself.
std::string SdkHeaders();

}  // namespace agent_graph::cli
