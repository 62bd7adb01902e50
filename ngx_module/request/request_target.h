// The part of the request target that the service receives.
#pragma once

#include <optional>
#include <string>

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

struct RequestTarget {
  std::string path;   // raw, without the location's prefix, begins with '/'
  std::string query;  // raw
};

// Returns nullopt if the path is not below `base_path`. Uses the raw path, because nginx merges
// slashes and decodes escapes that may belong to an id. After a rewrite or internal redirect it
// uses the new path, escaped again.
std::optional<RequestTarget> LocateTarget(ngx_http_request_t* request, const ngx_str_t& base_path);

}  // namespace agent_graph::nginx
