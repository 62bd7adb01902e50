// Headers of every response, including native responses, errors and preflights. Thread-safe; the
// nginx thread calls these functions, too.
#pragma once

#include <string_view>

#include "bridge/request.h"
#include "settings/settings.h"

namespace agent_graph::api {

// Appends X-Request-ID, X-Timestamp, CORS headers and, if configured, the security headers.
// `origin` is the request's Origin header or empty; `https` adds Strict-Transport-Security.
void AppendStandardHeaders(bridge::HeaderList& headers, const settings::Settings& settings,
                           std::string_view origin, std::string_view request_id, bool https);

// Appends the additional headers of an OPTIONS preflight: methods, headers and cache time. The
// response is 204 without a body. An origin that is not allowed gets no CORS headers.
void AppendPreflightHeaders(bridge::HeaderList& headers, const settings::Settings& settings,
                            std::string_view origin, std::string_view requested_headers);

// True if a page of `origin` may call this service.
bool OriginAllowed(const settings::CorsSettings& cors, std::string_view origin);

}  // namespace agent_graph::api
