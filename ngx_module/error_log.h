// What nginx's error log says of a request of ours.
#pragma once

#include "ngx.h"

namespace agent_graph::nginx {

// nginx appends the request line to whatever is logged of a request, and that of a WebSocket may
// hold a token.
ngx_int_t HideTokensInErrorLog(ngx_conf_t* cf) noexcept;

}  // namespace agent_graph::nginx
