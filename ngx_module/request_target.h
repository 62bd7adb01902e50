// Which part of the request target the service sees.
#pragma once

#include <optional>
#include <string>

#include "ngx.h"

namespace agent_graph::nginx {

struct RequestTarget {
  std::string path;   // raw, location prefix stripped, begins with '/'
  std::string query;  // raw
};

// Nothing when the path does not lie below `base_path`. The raw path is used, because nginx merges
// slashes and decodes escapes that belong to an id; after a rewrite or internal redirect it is the
// new path, escaped again.
std::optional<RequestTarget> LocateTarget(ngx_http_request_t* request, const ngx_str_t& base_path);

}  // namespace agent_graph::nginx
