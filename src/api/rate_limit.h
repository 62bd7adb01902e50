// What a client is told about its rate limit.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "api/envelope.h"
#include "limits/rate_table.h"
#include "settings/settings.h"

namespace agent_graph::api {

// The caller is known only after authentication, so that guarded routes are counted behind it.
bool CountsByUser(const settings::Settings& settings);

using RateLimitHeaders = std::array<std::pair<std::string_view, std::string>, 4>;

// Those of every answer to a request that was counted. `now` in seconds since 1970.
RateLimitHeaders DescribeRateLimit(const limits::RateDecision& decision, int64_t now);

// 429. `websocket`: the refusal of a handshake.
Reply RateLimitedReply(const limits::RateLimitOptions& options,
                       const limits::RateDecision& decision, bool websocket,
                       std::string_view request_id);

}  // namespace agent_graph::api
