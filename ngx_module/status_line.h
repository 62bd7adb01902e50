// Status lines that nginx does not know: it sends the number without a reason phrase, which some
// clients show to people or refuse.
#pragma once

#include "ngx.h"

namespace agent_graph::nginx {

// Before the head is sent.
void SetStatusLine(ngx_http_request_t* request);

}  // namespace agent_graph::nginx
