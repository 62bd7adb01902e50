// RedisLink: a Redis server that a service uses but does not depend on. A failure is logged once,
// and then the server is not called for a while, so that only few requests wait for a server that
// hangs.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/redis.h"

namespace agent_graph::net {

// Default limit for a reply; the URL may set another.
inline constexpr std::chrono::milliseconds kRedisLinkTimeout{100};
inline constexpr std::chrono::milliseconds kRedisLinkPause{2'000};

// Thread-safe; call it on fibers.
class RedisLink {
 public:
  using Warn = std::function<void(const std::string&)>;  // called on any thread

  // Warnings begin with `name`; `meanwhile` describes what the service does without the server.
  RedisLink(RedisEndpoint endpoint, std::string name, std::string meanwhile, Warn warn);

  // kResourceExhausted: no connection became free within `queue_timeout` (default: the server's
  // timeout), which is not the server's fault. Any other failure: the server failed now, or
  // recently and is paused. An error reply also counts as a failure (kUnavailable).
  Result<RedisReply> Call(const std::vector<std::string>& arguments,
                          std::optional<std::chrono::milliseconds> queue_timeout = std::nullopt);
  bool paused() const { return MonotonicClock::now().time_since_epoch().count() < paused_until_; }

 private:
  const std::chrono::milliseconds timeout_;
  RedisClient client_;
  const std::string name_;
  const std::string meanwhile_;
  const Warn warn_;
  std::atomic<int64_t> paused_until_{0};  // ticks of MonotonicClock
  std::atomic<bool> failing_{false};      // already logged
};

}  // namespace agent_graph::net
