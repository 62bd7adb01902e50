// Errors and headers about the rate limit.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/errors.h"
#include "limits/rate_table.h"
#include "settings/settings.h"

namespace agent_graph::api {

// True if requests of guarded routes are counted by user, and therefore after authentication.
bool CountsByUser(const settings::Settings& settings);

using RateLimitHeaders = std::array<std::pair<std::string_view, std::string>, 4>;

// Returns the headers of each response to a request that was counted. `now` in seconds since 1970.
RateLimitHeaders DescribeRateLimit(const limits::RateDecision& decision, int64_t now);

// Returns the error of a request that is over the limit (429).
ErrorInfo RateLimitedError(const limits::RateLimitOptions& options,
                           const limits::RateDecision& decision);

}  // namespace agent_graph::api
