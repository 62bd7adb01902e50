#include "settings/websocket.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "settings/access.h"

namespace agent_graph::settings {
namespace {

using limits::PlaceLimitOptions;

constexpr int64_t kConnectionsMax = 1'000'000;

Status ReadConnectionsMax(const Value& value, uint32_t& connections_max) {
  if (value.IsNull()) return Status::Ok();
  return value.Read(0, kConnectionsMax, connections_max);
}

// True for a token of HTTP, as Sec-WebSocket-Protocol may contain.
bool IsToken(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

Status ReadBearerProtocols(const Value& value, WebSocketSettings& websocket) {
  AG_RETURN_IF_ERROR(value.ReadStrings(websocket.bearer_protocols));
  if (!std::ranges::all_of(websocket.bearer_protocols, IsToken)) {
    return value.Error("each name is a token, without spaces and commas");
  }
  return Status::Ok();
}

Status ReadTotalBackend(const Value& value, WebSocketSettings& websocket) {
  static constexpr std::array<std::string_view, 2> kNames = {"memory", "redis"};
  size_t index = 0;
  AG_RETURN_IF_ERROR(value.ReadChoice(kNames, index));
  websocket.total.backend =
      index == 1 ? PlaceLimitOptions::Backend::kRedis : PlaceLimitOptions::Backend::kMemory;
  return Status::Ok();
}

Status ReadTotalRedis(const Value& value, WebSocketSettings& websocket) {
  RedisSettings redis;
  redis.prefix = websocket.total.redis_prefix;
  AG_RETURN_IF_ERROR(ReadRedisBlock(value, redis));
  websocket.total.redis_url = std::move(redis.url);
  websocket.total.redis_prefix = std::move(redis.prefix);
  return Status::Ok();
}

constexpr Key<WebSocketSettings> kWebSocketKeys[] = {
    {"max_connections",
     [](const Value& v, WebSocketSettings& w) { return ReadConnectionsMax(v, w.connections_max); }},
    {"max_connections_total",
     [](const Value& v, WebSocketSettings& w) { return ReadConnectionsMax(v, w.total.max); }},
    {"backend", ReadTotalBackend},
    {"redis", ReadTotalRedis},
    {"bearer_protocols", ReadBearerProtocols},
};

}  // namespace

Status ReadWebSocket(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  return ReadObject(value, kWebSocketKeys, settings.websocket);
}

Status FinishWebSocket(Settings& settings) {
  PlaceLimitOptions& total = settings.websocket.total;
  if (total.backend != PlaceLimitOptions::Backend::kRedis) return Status::Ok();
  if (total.redis_url.empty()) total.redis_url = settings.redis.url;
  if (!total.redis_url.empty()) return Status::Ok();
  return Status(StatusCode::kInvalidArgument,
                "websocket.redis: the redis backend needs a URL, here, in redis or in REDIS_URL");
}

}  // namespace agent_graph::settings
