// The headers of a request, for the engine.
#pragma once

#include "bridge/request.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Copies the headers in their order, with names in lower case. The last one is a `host` with the
// authority of the request if the client sent only that, as HTTP/3 does: nginx turns it into a
// header for HTTP/2, not for HTTP/3.
bridge::HeaderList CopyHeaders(const ngx_http_request_t* request);

}  // namespace agent_graph::nginx
