// The request body as nginx read it, handed over without parsing.
#pragma once

#include "base/status.h"
#include "bridge/request.h"
#include "ngx.h"

namespace agent_graph::nginx {

// Takes the body out of a request whose body nginx has read: no buffer, several buffers, or a
// temporary file, of which the result owns a descriptor. kResourceExhausted: larger than
// `bytes_max`. Does not read the file: that would block the loop.
Result<bridge::Body> TakeBody(ngx_http_request_t* request, uint64_t bytes_max);

}  // namespace agent_graph::nginx
