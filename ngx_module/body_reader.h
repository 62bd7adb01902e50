// The request body as nginx read it, handed over without parsing.
#pragma once

#include "base/status.h"
#include "bridge/request.h"
#include "ngx.h"

namespace agent_graph::nginx {

// Takes the body out of a request whose body nginx has read: no buffer, several buffers, or a
// temporary file, of which the result owns a descriptor; nginx's own is closed unless something
// else may read it. kResourceExhausted: larger than `bytes_max`. Does not read the file: that would
// block the loop.
Result<bridge::Body> TakeBody(ngx_http_request_t* request, uint64_t bytes_max);

// Moves what has been read of an unbuffered body into `piece`, so that its buffers can be used
// again. False: it is in a file, where none was asked for.
bool TakeBodyPiece(ngx_http_request_t* request, std::string& piece);

}  // namespace agent_graph::nginx
