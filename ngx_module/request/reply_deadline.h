// Deadline for a client that reads the rest of a reply slowly. send_timeout restarts with every
// byte that the client takes, and the whole rest stays in memory until then.
#pragma once

#include "ngx_module/request/request_context.h"

namespace agent_graph::nginx {

// Call when the engine has ended a reply that nginx has not sent completely. The request ends when
// the time that a slow client may need for the rest has passed.
void SetReplyDeadline(RequestContext& context);
void ClearReplyDeadline(RequestContext& context);

// Milliseconds that a slow client may take to read so many bytes: 16 KiB per second.
ngx_msec_t ReadingTime(uint64_t bytes);

}  // namespace agent_graph::nginx
