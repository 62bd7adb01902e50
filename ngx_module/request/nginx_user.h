// The caller as nginx has authenticated it: agent_graph_user and agent_graph_user_claims.
#pragma once

#include "ngx_module/config.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

struct RequestContext;

// Handlers of the two directives, and the check that MergeLocationConfig makes of both at its end.
char* UserDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* CheckUser(ngx_conf_t* cf, const LocationConfig& location);

// Call before nginx's access phase. nginx fills $remote_user from the Authorization header even if
// nothing checks the password, for limit_req or `set` for example. auth_basic reads the header
// again in the access phase, so a name that is known after that phase is one whose password was
// checked. NGX_ERROR: out of memory.
ngx_int_t ForgetRemoteUser(ngx_http_request_t* request, const LocationConfig& location);

// Evaluates the directives into the head of the request. Called from the content handler only, that
// is after nginx's access phase: before it, the values of the variables are unchecked. The
// user stays empty if the client sent a name and its password was not checked. False: out of
// memory.
bool ReadNginxUser(RequestContext& context);

}  // namespace agent_graph::nginx
