// Takes over the request body as nginx has read it, without parsing it.
#pragma once

#include "base/status.h"
#include "bridge/request.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Bytes of the request's body that nginx will hold in memory when it reads it; 0: few.
uint64_t LargeBodyInMemory(const ngx_http_request_t* request);

// Takes the body out of a request whose body nginx has read: no buffer, several buffers, or a
// temporary file. For a file the result owns a duplicate descriptor; nginx's own is closed, and its
// buffer of a large body freed, unless a mirror or a post_action may still read it. Does not read
// the file, because that would block the event loop. kResourceExhausted: the body is larger than
// `bytes_max`.
Result<bridge::Body> TakeBody(ngx_http_request_t* request, uint64_t bytes_max);

// Moves the part of an unbuffered body that has been read into `piece` and frees its buffers for
// reuse. False: nginx stored it in a file although none was requested.
bool TakeBodyPiece(ngx_http_request_t* request, std::string& piece);

}  // namespace agent_graph::nginx
