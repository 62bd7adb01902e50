#include "api/http/rate_limit.h"

namespace agent_graph::api {

bool CountsByUser(const settings::Settings& settings) {
  return settings.rate_limit && settings.rate_limit->by == limits::RateLimitOptions::By::kUser &&
         settings.authentication.method != settings::AuthenticationSettings::Method::kNone;
}

RateLimitHeaders DescribeRateLimit(const limits::RateDecision& decision, int64_t now) {
  return {{{"X-RateLimit-Limit", std::to_string(decision.limit)},
           {"X-RateLimit-Remaining", std::to_string(decision.remaining)},
           {"X-RateLimit-Reset", std::to_string(now + decision.reset_after_seconds)},
           {"X-RateLimit-Reset-After", std::to_string(decision.reset_after_seconds)}}};
}

ErrorInfo RateLimitedError(const limits::RateLimitOptions& options,
                           const limits::RateDecision& decision) {
  ErrorInfo error{ApiError::kRateLimited, "", {}};
  error.numbers = {{"limit", decision.limit},
                   {"window_seconds", options.window_seconds},
                   {"retry_after_seconds", decision.reset_after_seconds}};
  error.retry_after_seconds = decision.reset_after_seconds;
  return error;
}

}  // namespace agent_graph::api
