// Removes tokens from the request lines in nginx's error log.
#pragma once

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Installs the filter at postconfiguration. nginx appends the request line to every log entry of a
// request, and the request line of a WebSocket may contain a token.
ngx_int_t HideTokensInErrorLog(ngx_conf_t* cf) noexcept;

}  // namespace agent_graph::nginx
