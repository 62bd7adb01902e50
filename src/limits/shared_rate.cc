#include "limits/shared_rate.h"

#include <algorithm>
#include <string_view>

#include "base/ids.h"

namespace agent_graph::limits {
namespace {

// Keeps the admitted requests in a sorted set by time in microseconds. Returns {admitted,
// remaining, microseconds until there is room}. Refused requests are not stored.
constexpr std::string_view kScript = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = ARGV[2] * 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now - window))
local count = redis.call('ZCARD', KEYS[1])
local limit = tonumber(ARGV[1])
if count >= limit then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {0, 0, oldest[2] + window - now + 1}
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2] * 1000 + 1000)
return {1, limit - count - 1, 0}
)lua";

// Maximum wait for Redis when many requests arrive at once and are counted one by one. A client
// that would wait longer gets 429 and retries.
constexpr std::chrono::milliseconds kQueueTimeout{2'000};

constexpr int64_t kMicrosPerSecond = 1'000'000;

bool IsDecision(const net::RedisReply& reply) {
  using Type = net::RedisReply::Type;
  return reply.type == Type::kArray && reply.elements.size() == 3 &&
         std::ranges::all_of(reply.elements, [](const net::RedisReply& element) {
           return element.type == Type::kInteger;
         });
}

}  // namespace

Result<std::unique_ptr<SharedRate>> SharedRate::Create(const RateLimitOptions& options,
                                                       net::RedisLink::Warn warn) {
  if (options.backend != RateLimitOptions::Backend::kRedis) return std::unique_ptr<SharedRate>();
  Result<net::RedisEndpoint> endpoint = net::ParseRedisUrl(options.redis_url);
  if (!endpoint.ok()) {
    return Status(StatusCode::kInvalidArgument, "rate_limit.redis: " + endpoint.status().message());
  }
  return std::unique_ptr<SharedRate>(
      new SharedRate(options, *std::move(endpoint), std::move(warn)));
}

SharedRate::SharedRate(const RateLimitOptions& options, net::RedisEndpoint endpoint,
                       net::RedisLink::Warn warn)
    : options_(options),
      link_(std::move(endpoint), "the shared rate limit",
            options.fail_open ? "requests are let through" : "requests are refused",
            std::move(warn)) {}

std::optional<RateDecision> SharedRate::Check(const std::string& key) {
  std::optional<RateDecision> decision = Ask(key);
  if (decision) {
    ++(decision->admitted ? counters_.admitted : counters_.refused);
  } else {
    ++(options_.fail_open ? counters_.unchecked : counters_.refused);
  }
  return decision;
}

std::optional<RateDecision> SharedRate::Ask(const std::string& key) {
  // Members must be unique, also for requests in the same microsecond.
  Result<net::RedisReply> reply = link_.Call(
      {"EVAL", std::string(kScript), "1", options_.redis_prefix + ":" + key,
       std::to_string(options_.requests), std::to_string(options_.window_seconds), NewUuid()},
      kQueueTimeout);
  RateDecision decision;
  if (reply.status().code() == StatusCode::kResourceExhausted) {
    decision.admitted = false;
    decision.limit = options_.requests;
    decision.reset_after_seconds = 1;
    return decision;
  }
  if (!reply.ok() || !IsDecision(*reply)) return std::nullopt;
  decision.admitted = reply->elements[0].integer == 1;
  decision.limit = options_.requests;
  decision.remaining =
      static_cast<uint32_t>(std::clamp<int64_t>(reply->elements[1].integer, 0, options_.requests));
  int64_t wait_seconds = (reply->elements[2].integer + kMicrosPerSecond - 1) / kMicrosPerSecond;
  decision.reset_after_seconds = decision.admitted
                                     ? options_.window_seconds
                                     : static_cast<uint32_t>(std::clamp<int64_t>(
                                           wait_seconds, 1, int64_t{options_.window_seconds} + 1));
  return decision;
}

}  // namespace agent_graph::limits
