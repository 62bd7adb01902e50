// The keys "backend" and "redis", which every limit has: where it counts.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "settings/access.h"
#include "settings/value.h"

namespace agent_graph::settings {

// `Options` are those of a limit, such as limits::RateLimitOptions. Names in `unavailable` get an
// error of their own (see Value::ReadChoice).
template <typename Options>
Status ReadLimitBackend(const Value& value, Options& options,
                        std::span<const std::string_view> unavailable = {}) {
  using Backend = typename Options::Backend;
  static constexpr Choice<Backend> kBackends[] = {{"memory", Backend::kMemory},
                                                  {"redis", Backend::kRedis}};
  return value.ReadChoice(kBackends, options.backend, unavailable);
}

// Reads a URL, or {"url": …, "prefix": …}.
template <typename Options>
Status ReadLimitRedis(const Value& value, Options& options) {
  RedisSettings redis;
  redis.prefix = options.redis_prefix;
  AG_RETURN_IF_ERROR(ReadRedisBlock(value, redis));
  options.redis_url = std::move(redis.url);
  options.redis_prefix = std::move(redis.prefix);
  return Status::Ok();
}

}  // namespace agent_graph::settings
