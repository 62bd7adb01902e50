#include "settings/token_limit.h"

#include <utility>

#include "settings/limit_backend.h"

namespace agent_graph::settings {
namespace {

using limits::TokenLimitOptions;

constexpr int64_t kTokensMax = 1'000'000'000'000;
constexpr int64_t kTokenWindowMax = int64_t{31} * 24 * 60 * 60;

constexpr Key<TokenLimitOptions> kTokenLimitKeys[] = {
    {"tokens",
     [](const Value& v, TokenLimitOptions& o) { return v.Read(1, kTokensMax, o.tokens); }},
    {"window",
     [](const Value& v, TokenLimitOptions& o) {
       return v.ReadSeconds(1, kTokenWindowMax, o.window_seconds);
     }},
    {"backend", [](const Value& v, TokenLimitOptions& o) { return ReadLimitBackend(v, o); }},
    {"redis", ReadLimitRedis<TokenLimitOptions>},
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
