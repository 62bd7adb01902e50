#include "settings/token_limit.h"

#include <array>
#include <string_view>
#include <utility>

#include "settings/access.h"

namespace agent_graph::settings {
namespace {

using limits::TokenLimitOptions;

constexpr int64_t kTokensMax = 1'000'000'000'000;
constexpr int64_t kTokenWindowMax = int64_t{31} * 24 * 60 * 60;

Status ReadBackend(const Value& value, TokenLimitOptions& options) {
  static constexpr std::array<std::string_view, 2> kNames = {"memory", "redis"};
  size_t index = 0;
  AG_RETURN_IF_ERROR(value.ReadChoice(kNames, index));
  options.backend =
      index == 1 ? TokenLimitOptions::Backend::kRedis : TokenLimitOptions::Backend::kMemory;
  return Status::Ok();
}

Status ReadTokenRedis(const Value& value, TokenLimitOptions& options) {
  RedisSettings redis;
  redis.prefix = options.redis_prefix;
  AG_RETURN_IF_ERROR(ReadRedisBlock(value, redis));
  options.redis_url = std::move(redis.url);
  options.redis_prefix = std::move(redis.prefix);
  return Status::Ok();
}

constexpr Key<TokenLimitOptions> kTokenLimitKeys[] = {
    {"tokens",
     [](const Value& v, TokenLimitOptions& o) { return v.Read(1, kTokensMax, o.tokens); }},
    {"window",
     [](const Value& v, TokenLimitOptions& o) {
       return v.ReadSeconds(1, kTokenWindowMax, o.window_seconds);
     }},
    {"backend", ReadBackend},
    {"redis", ReadTokenRedis},
    {"fail_open", [](const Value& v, TokenLimitOptions& o) { return v.ReadBoolean(o.fail_open); }},
};

}  // namespace

Status ReadTokenLimit(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  TokenLimitOptions options;
  AG_RETURN_IF_ERROR(ReadObject(value, kTokenLimitKeys, options));
  if (options.tokens == 0 && value.shape() == nullptr) {
    return value.Error("needs tokens: how many a user may use in each window");
  }
  settings.token_limit = std::move(options);
  return Status::Ok();
}

Status FinishTokenLimit(Settings& settings) {
  if (!settings.token_limit) return Status::Ok();
  TokenLimitOptions& options = *settings.token_limit;
  if (options.backend != TokenLimitOptions::Backend::kRedis) return Status::Ok();
  if (options.redis_url.empty()) options.redis_url = settings.redis.url;
  if (!options.redis_url.empty()) return Status::Ok();
  return Status(StatusCode::kInvalidArgument,
                "token_limit.redis: the redis backend needs a URL, here, in redis or in REDIS_URL");
}

}  // namespace agent_graph::settings
