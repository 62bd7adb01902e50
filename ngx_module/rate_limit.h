// The rate limit, as early as it can be decided: before credentials are looked at and before a body
// is read, or, counted by user, as soon as the engine knows the user.
#pragma once

#include <optional>

#include "api/envelope.h"
#include "config.h"
#include "limits/rate_table.h"
#include "ngx.h"

namespace agent_graph::nginx {

struct RequestContext;

// Postconfiguration: adds the handler behind nginx's own limits and its realip module.
ngx_int_t AddRateLimit(ngx_conf_t* cf) noexcept;

// Counts a request whose user is known now and adds the headers to its answer.
limits::RateDecision CountForUser(ngx_http_request_t* request, const LocationConfig& location,
                                  std::string_view user_id);

// For a request that the loop refuses before anybody looked at its credentials: counts it for its
// address unless it was counted. The answer when it is one too many.
std::optional<api::Reply> CountRefusal(RequestContext& context);

bool IsHandshake(const ngx_http_request_t* request);

}  // namespace agent_graph::nginx
