// The rate limit, applied as early as possible: before authentication and before the body is read,
// or, if it is counted by user, as soon as the engine has identified the user.
#pragma once

#include <optional>

#include "api/http/envelope.h"
#include "limits/rate_table.h"
#include "ngx_module/config.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

struct RequestContext;

// Postconfiguration: adds the handler after nginx's own limits and its realip module.
ngx_int_t AddRateLimit(ngx_conf_t* cf) noexcept;

// Counts a request whose user is known now, and adds the rate limit headers to its answer.
limits::RateDecision CountForUser(ngx_http_request_t* request, const LocationConfig& location,
                                  std::string_view user_id);

// For a request that the event loop refuses before authentication: counts it for its address unless
// it was counted already. Returns the answer if the limit is exceeded.
std::optional<api::Reply> CountRefusal(RequestContext& context);

// True if the request asks for an upgrade to a WebSocket.
bool IsHandshake(const ngx_http_request_t* request);

}  // namespace agent_graph::nginx
