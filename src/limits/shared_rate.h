// A rate limit that several hosts share: a sliding window in Redis.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "limits/options.h"
#include "limits/rate_table.h"
#include "limits/shared_rate_counters.h"
#include "net/redis_link.h"

namespace agent_graph::limits {

// Thread-safe; calls on fibers. Never more than the limit in any window, by Redis' clock.
class SharedRate {
 public:
  // Null for a limit that is not counted in Redis. `options` outlive it.
  static Result<std::unique_ptr<SharedRate>> Create(const RateLimitOptions& options,
                                                    net::RedisLink::Warn warn);

  // Nothing: Redis does not answer, and what that means is the configuration's to say. A crowd that
  // Redis cannot be asked about in time is refused for a second.
  std::optional<RateDecision> Check(const std::string& key);
  const SharedRateCounters& counters() const { return counters_; }

 private:
  SharedRate(const RateLimitOptions& options, net::RedisEndpoint endpoint,
             net::RedisLink::Warn warn);
  std::optional<RateDecision> Ask(const std::string& key);

  const RateLimitOptions& options_;
  net::RedisLink link_;
  SharedRateCounters counters_;
};

}  // namespace agent_graph::limits
