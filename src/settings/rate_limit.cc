#include "settings/rate_limit.h"

#include <array>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "settings/limit_backend.h"

namespace agent_graph::settings {
namespace {

using limits::RateLimitOptions;

constexpr int64_t kRequestsMax = 1'000'000'000;
constexpr int64_t kWindowSecondsMax = int64_t{7} * 24 * 60 * 60;
constexpr int64_t kHopsMax = 64;
constexpr size_t kListMax = 256;  // searched linearly for each request

struct RateLimitBlock {
  RateLimitOptions options;
  bool enabled = true;
};

// Reads a boolean, or its text, which is what an expanded variable gives.
Status ReadEnabled(const Value& value, RateLimitBlock& block) {
  if (!value.IsString()) return value.ReadBoolean(block.enabled);
  static constexpr std::array<std::string_view, 2> kNames = {"false", "true"};
  std::string text;
  AG_RETURN_IF_ERROR(value.ReadString(text));
  if (text != kNames[0] && text != kNames[1]) return value.Error("must be true or false");
  block.enabled = text == kNames[1];
  return Status::Ok();
}

Status ReadBackend(const Value& value, RateLimitBlock& block) {
  static constexpr std::array<std::string_view, 1> kUnavailable = {"custom"};
  return ReadLimitBackend(value, block.options, kUnavailable);
}

Status ReadBy(const Value& value, RateLimitBlock& block) {
  using By = RateLimitOptions::By;
  static constexpr Choice<By> kKinds[] = {
      {"ip", By::kAddress}, {"user", By::kUser}, {"global", By::kGlobal}};
  return value.ReadChoice(kKinds, block.options.by);
}

Status ReadScope(const Value& value, RateLimitBlock& block) {
  using Scope = RateLimitOptions::Scope;
  static constexpr Choice<Scope> kScopes[] = {{"nginx", Scope::kNginx}, {"worker", Scope::kWorker}};
  return value.ReadChoice(kScopes, block.options.scope);
}

Status CheckListLength(const Value& value, const std::vector<std::string>& list) {
  if (list.size() <= kListMax) return Status::Ok();
  return value.Error("has more than " + std::to_string(kListMax) + " entries");
}

Status ReadExcludePaths(const Value& value, RateLimitBlock& block) {
  AG_RETURN_IF_ERROR(value.ReadStrings(block.options.exclude_paths));
  for (const std::string& path : block.options.exclude_paths) {
    if (!path.starts_with('/')) return value.Error("each path begins with \"/\"");
  }
  return CheckListLength(value, block.options.exclude_paths);
}

Status ReadTrustedProxies(const Value& value, RateLimitBlock& block) {
  std::vector<std::string> list;
  AG_RETURN_IF_ERROR(value.ReadStrings(list));
  AG_RETURN_IF_ERROR(CheckListLength(value, list));
  for (size_t i = 0; i < list.size(); ++i) {
    std::optional<limits::AddressRange> range = limits::ParseAddressRange(list[i]);
    if (!range) {
      return value.Element(i).Error(
          "is not an address or network such as 10.0.0.0/8 or 2001:db8::/32");
    }
    block.options.trusted_proxies.push_back(*range);
  }
  return Status::Ok();
}

constexpr Key<RateLimitBlock> kRateLimitKeys[] = {
    {"enabled", ReadEnabled},
    {"backend", ReadBackend},
    {"requests",
     [](const Value& v, RateLimitBlock& b) { return v.Read(1, kRequestsMax, b.options.requests); }},
    {"window",
     [](const Value& v, RateLimitBlock& b) {
       return v.ReadSeconds(1, kWindowSecondsMax, b.options.window_seconds);
     }},
    {"by", ReadBy},
    {"scope", ReadScope},
    {"exclude_paths", ReadExcludePaths},
    {"trusted_proxy_headers",
     [](const Value& v, RateLimitBlock& b) {
       return v.ReadBoolean(b.options.trusted_proxy_headers);
     }},
    {"trusted_proxy_hops",
     [](const Value& v, RateLimitBlock& b) {
       return v.Read(1, kHopsMax, b.options.trusted_proxy_hops);
     }},
    {"trusted_proxies", ReadTrustedProxies},
    {"redis", [](const Value& v, RateLimitBlock& b) { return ReadLimitRedis(v, b.options); }},
    {"fail_open",
     [](const Value& v, RateLimitBlock& b) { return v.ReadBoolean(b.options.fail_open); }},
};

}  // namespace

Status ReadRateLimit(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  RateLimitBlock block;
  AG_RETURN_IF_ERROR(ReadObject(value, kRateLimitKeys, block));
  if (block.enabled) settings.rate_limit = std::move(block.options);
  return Status::Ok();
}

Status FinishRateLimit(Settings& settings) {
  if (!settings.rate_limit) return Status::Ok();
  RateLimitOptions& options = *settings.rate_limit;
  if (options.backend != RateLimitOptions::Backend::kRedis || !options.redis_url.empty()) {
    return Status::Ok();
  }
  options.redis_url = settings.redis.url;
  if (!options.redis_url.empty()) return Status::Ok();
  return Status(StatusCode::kInvalidArgument,
                "rate_limit.redis: the redis backend needs a URL, here, in redis or in REDIS_URL");
}

}  // namespace agent_graph::settings
