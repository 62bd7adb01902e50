// The caller as nginx has authenticated it: agent_graph_user and agent_graph_user_claims.
#pragma once

#include "bridge/request.h"
#include "ngx_module/config.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Handlers of the two directives, and the check that MergeLocationConfig makes of both at its end.
char* UserDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* CheckUser(ngx_conf_t* cf, const LocationConfig& location);

// Evaluates the directives into `head`. Called from the content handler only, that is after nginx's
// access phase: before it, the values of the variables are unchecked. False: out of memory.
bool ReadNginxUser(ngx_http_request_t* request, const LocationConfig& location,
                   bridge::RequestHead& head);

}  // namespace agent_graph::nginx
