#include "limits/shared_rate.h"

#include <algorithm>
#include <string_view>

#include "base/clock.h"
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

// Grants a block of up to ARGV[3] permits, which expires with the current sub-window. The hash has
// the granted permits by sub-window; each counts until a window after the end of its sub-window.
// The numbers of sub-windows depend on the window, so each window needs a hash of its own. Returns
// {granted, remaining, microseconds until the block expires, or until there is room}.
constexpr std::string_view kBlockScript = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = ARGV[2] * 1000000
local width = math.ceil(window / ARGV[4])
local current = math.floor(now / width)
local granted = redis.call('HGETALL', KEYS[1])
local count = 0
local oldest_end = nil
for i = 1, #granted, 2 do
  local ends = (tonumber(granted[i]) + 1) * width
  if ends + window <= now then
    redis.call('HDEL', KEYS[1], granted[i])
  else
    count = count + tonumber(granted[i + 1])
    if not oldest_end or ends < oldest_end then oldest_end = ends end
  end
end
local room = tonumber(ARGV[1]) - count
if room <= 0 then return {0, 0, oldest_end + window - now} end
local block = math.min(room, tonumber(ARGV[3]))
redis.call('HINCRBY', KEYS[1], string.format('%.0f', current), block)
redis.call('PEXPIRE', KEYS[1], math.ceil((window + width) / 1000) + 1000)
return {block, room - block, (current + 1) * width - now}
)lua";

// Maximum wait for Redis when many requests arrive at once and are counted one by one. A client
// that would wait longer gets 429 and retries.
constexpr std::chrono::milliseconds kQueueTimeout{2'000};

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
            std::move(warn)),
      blocks_(options.requests) {}

std::optional<RateDecision> SharedRate::Check(const std::string& key) {
  std::optional<RateDecision> decision = is_exact() ? Ask(key) : AskForBlock(key);
  if (decision) {
    ++(decision->admitted ? counters_.admitted : counters_.refused);
  } else {
    ++(options_.fail_open ? counters_.unchecked : counters_.refused);
  }
  return decision;
}

RateDecision SharedRate::Admitted(int64_t remaining) const {
  RateDecision decision;
  decision.admitted = true;
  decision.limit = options_.requests;
  decision.remaining = static_cast<uint32_t>(std::clamp<int64_t>(remaining, 0, options_.requests));
  decision.reset_after_seconds = options_.window_seconds;
  return decision;
}

RateDecision SharedRate::Refused(int64_t wait_micros) const {
  RateDecision decision;
  decision.admitted = false;
  decision.limit = options_.requests;
  const int64_t wait_seconds = (wait_micros + kMicrosPerSecond - 1) / kMicrosPerSecond;
  // A request counts until its sub-window has left the window.
  decision.reset_after_seconds = static_cast<uint32_t>(
      std::clamp<int64_t>(wait_seconds, 1, int64_t{options_.window_seconds} * 2));
  return decision;
}

std::optional<RateDecision> SharedRate::Ask(const std::string& key) {
  // Members must be unique, also for requests in the same microsecond.
  Result<net::RedisReply> reply = link_.Call(
      {"EVAL", std::string(kScript), "1", options_.redis_prefix + ":" + key,
       std::to_string(options_.requests), std::to_string(options_.window_seconds), NewUuid()},
      kQueueTimeout);
  if (reply.status().code() == StatusCode::kResourceExhausted) return Refused(kMicrosPerSecond);
  if (!reply.ok() || !IsDecision(*reply)) return std::nullopt;
  if (reply->elements[0].integer == 1) return Admitted(reply->elements[1].integer);
  return Refused(reply->elements[2].integer);
}

std::optional<RateDecision> SharedRate::AskForBlock(const std::string& key) {
  const Deadline now = MonotonicClock::now();
  if (const auto remaining = blocks_.Take(key, now)) return Admitted(*remaining);
  Result<net::RedisReply> reply = link_.Call(
      {"EVAL", std::string(kBlockScript), "1",
       options_.redis_prefix + ":blocks:" + std::to_string(options_.window_seconds) + ":" + key,
       std::to_string(options_.requests), std::to_string(options_.window_seconds),
       std::to_string(blocks_.Wanted(key)), std::to_string(WindowShape::kSubWindows)},
      kQueueTimeout);
  if (reply.status().code() == StatusCode::kResourceExhausted) return Refused(kMicrosPerSecond);
  if (!reply.ok() || !IsDecision(*reply)) return std::nullopt;
  const int64_t granted = reply->elements[0].integer;
  const int64_t remaining = reply->elements[1].integer;
  const std::chrono::microseconds time(reply->elements[2].integer);
  if (granted == 0) return Refused(time.count());
  // Measured from before the call, so that it never ends after the block of Redis.
  blocks_.Add(key, static_cast<uint32_t>(granted), static_cast<uint32_t>(remaining), now + time);
  return Admitted(remaining + granted - 1);
}

}  // namespace agent_graph::limits
