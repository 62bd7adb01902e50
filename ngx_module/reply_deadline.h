// How long a client may take for the rest of a reply. send_timeout begins anew with every byte it
// takes, and the whole rest is held in memory until then.
#pragma once

#include "request_context.h"

namespace agent_graph::nginx {

// When the engine has ended a reply of which nginx still holds a part: the request ends when the
// time is over that a slow client needs for it.
void SetReplyDeadline(RequestContext& context);
void ClearReplyDeadline(RequestContext& context);

}  // namespace agent_graph::nginx
