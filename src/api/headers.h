// The headers every answer carries, native ones, errors and preflights included.
#pragma once

#include <string_view>

#include "bridge/request.h"
#include "settings/settings.h"

namespace agent_graph::api {

// X-Request-ID, X-Timestamp, CORS and, when configured, the security headers. `origin` is the
// request's Origin header or empty; `https` adds Strict-Transport-Security.
void AppendStandardHeaders(bridge::HeaderList& headers, const settings::Settings& settings,
                           std::string_view origin, std::string_view request_id, bool https);

// What an OPTIONS preflight is told besides: methods, headers and how long to remember. The answer
// is 204 without a body; an origin that is not allowed gets no CORS header at all.
void AppendPreflightHeaders(bridge::HeaderList& headers, const settings::Settings& settings,
                            std::string_view origin, std::string_view requested_headers);

// True when a page of `origin` may call this service.
bool OriginAllowed(const settings::CorsSettings& cors, std::string_view origin);

}  // namespace agent_graph::api
