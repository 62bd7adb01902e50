// A rate limit that several hosts share: a sliding window in Redis.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "limits/options.h"
#include "limits/permit_blocks.h"
#include "limits/rate_table.h"
#include "limits/shared_rate_counters.h"
#include "limits/sliding_window.h"
#include "net/redis_link.h"

namespace agent_graph::limits {

// Thread-safe. Check runs on a fiber and suspends it. No window, measured by the clock of Redis,
// ever admits more than the limit.
//
// Up to WindowShape::kExactMax requests, Redis keeps the time of each. Above that, it counts
// requests by sub-windows, as a table in memory does, and gives busy callers blocks of permits.
class SharedRate {
 public:
  // Returns null for a limit that is not counted in Redis. `options` must outlive the object.
  static Result<std::unique_ptr<SharedRate>> Create(const RateLimitOptions& options,
                                                    net::RedisLink::Warn warn);

  // Counts a request of `key`. nullopt: Redis did not answer, and the caller follows `fail_open`.
  // If too many requests wait for Redis, the request is refused, to be sent again after a second.
  std::optional<RateDecision> Check(const std::string& key);
  const SharedRateCounters& counters() const { return counters_; }

 private:
  SharedRate(const RateLimitOptions& options, net::RedisEndpoint endpoint,
             net::RedisLink::Warn warn);
  bool is_exact() const { return options_.requests <= WindowShape::kExactMax; }
  std::optional<RateDecision> Ask(const std::string& key);
  std::optional<RateDecision> AskForBlock(const std::string& key);
  RateDecision Admitted(int64_t remaining) const;
  RateDecision Refused(int64_t wait_micros) const;

  const RateLimitOptions& options_;
  net::RedisLink link_;
  PermitBlocks blocks_;
  SharedRateCounters counters_;
};

}  // namespace agent_graph::limits
