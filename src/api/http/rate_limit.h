// Responses and headers about the rate limit.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/envelope.h"
#include "limits/rate_table.h"
#include "settings/settings.h"

namespace agent_graph::api {

// True if requests of guarded routes are counted by user, and therefore after authentication.
bool CountsByUser(const settings::Settings& settings);

using RateLimitHeaders = std::array<std::pair<std::string_view, std::string>, 4>;

// Returns the headers of each response to a request that was counted. `now` in seconds since 1970.
RateLimitHeaders DescribeRateLimit(const limits::RateDecision& decision, int64_t now);

// Returns a 429 response. `websocket`: the request was a handshake.
Reply RateLimitedReply(const limits::RateLimitOptions& options,
                       const limits::RateDecision& decision, bool websocket,
                       std::string_view request_id);

}  // namespace agent_graph::api
