// A Redis that a service works with but does not depend on: what fails is answered by nothing, told
// once, and left alone for a while, so that a server that hangs costs few requests its timeout.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/redis.h"

namespace agent_graph::net {

// How long the server may take to answer, unless its URL says otherwise.
inline constexpr std::chrono::milliseconds kRedisLinkTimeout{100};
inline constexpr std::chrono::milliseconds kRedisLinkPause{2'000};

// Thread-safe; calls on fibers.
class RedisLink {
 public:
  using Warn = std::function<void(const std::string&)>;  // from any thread

  // Warnings begin with `name`; `meanwhile` says what happens without it.
  RedisLink(RedisEndpoint endpoint, std::string name, std::string meanwhile, Warn warn);

  // kResourceExhausted: there was no connection within `crowd_patience` (or the server's timeout),
  // which is no fault of the server's. Anything else: it failed, just now or lately.
  Result<RedisReply> Call(const std::vector<std::string>& arguments,
                          std::optional<std::chrono::milliseconds> crowd_patience = std::nullopt);
  bool paused() const { return MonotonicClock::now().time_since_epoch().count() < paused_until_; }

 private:
  const std::chrono::milliseconds timeout_;
  RedisClient client_;
  const std::string name_;
  const std::string meanwhile_;
  const Warn warn_;
  std::atomic<int64_t> paused_until_{0};  // ticks of MonotonicClock
  std::atomic<bool> failing_{false};      // told already
};

}  // namespace agent_graph::net
