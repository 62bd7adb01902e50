// Status lines that nginx does not know. nginx would send the number without a reason phrase, which
// some clients reject or show to users.
#pragma once

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Call before the head is sent.
void SetStatusLine(ngx_http_request_t* request);

}  // namespace agent_graph::nginx
