#include "settings/websocket.h"

#include <algorithm>
#include <string_view>

#include "settings/limit_backend.h"

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

constexpr Key<WebSocketSettings> kWebSocketKeys[] = {
    {"max_connections",
     [](const Value& v, WebSocketSettings& w) { return ReadConnectionsMax(v, w.connections_max); }},
    {"max_connections_total",
     [](const Value& v, WebSocketSettings& w) { return ReadConnectionsMax(v, w.total.max); }},
    {"backend", [](const Value& v, WebSocketSettings& w) { return ReadLimitBackend(v, w.total); }},
    {"redis", [](const Value& v, WebSocketSettings& w) { return ReadLimitRedis(v, w.total); }},
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
