// The one route table. It drives native routing and method checks in the nginx thread, the guard,
// the start-up guard check, and the handler on the engine's side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/fields.h"
#include "base/status.h"

namespace agent_graph::bridge {
struct SocketMessage;
}

namespace agent_graph::settings {
struct Settings;
}

namespace agent_graph::api {

class HandlerContext;

enum class Method : uint8_t { kGet, kPost, kPut, kDelete };
enum class BodyKind : uint8_t {
  kNone,
  kJson,
  kOptionalJson,
  kStream,  // taken piece by piece by the handler, however large it is
};
enum class Access : uint8_t { kPublic, kGuarded, kDocumentation };
enum class Transport : uint8_t {
  kHttp,
  kSocket,      // a WebSocket of JSON messages
  kLiveSocket,  // a WebSocket of audio: an oversized message is passed over
};

struct Route {
  Method method;
  std::string_view pattern;  // "/v1/threads/{thread_id}/state"
  Access access;
  std::string_view resource;  // "checkpointer"
  std::string_view action;    // "read"
  BodyKind body;
  bool native;                       // answered in the event loop
  void (*handler)(HandlerContext&);  // on a fiber; null for native routes
  std::string_view summary;
  RouteShape shape = {};
  Transport transport = Transport::kHttp;
  // Of a WebSocket, whose `handler` is called once, when it was accepted: one message.
  void (*on_message)(HandlerContext&, bridge::SocketMessage&) = nullptr;
  // Whether these settings close the route: asked after the guard, before the body is read.
  std::optional<ErrorInfo> (*closed)(const settings::Settings&) = nullptr;
};

// `data` of a stream: chunks, not an envelope.
inline constexpr std::string_view kStreamAnswer = "StreamChunk";
// Of a file: its bytes.
inline constexpr std::string_view kBytesAnswer = "bytes";

std::span<const Route> Routes();

struct RouteMatch {
  enum class Kind : uint8_t { kFound, kNotFound, kMethodNotAllowed };
  Kind kind = Kind::kNotFound;
  uint16_t route = 0;                        // index into Routes()
  bool trailing_slash = false;               // the path is the route's and a slash
  std::vector<std::string> path_parameters;  // decoded once
  std::string allow;                         // for kMethodNotAllowed: "GET, HEAD, OPTIONS"
};

// `raw_path` is the request target's path as sent, location prefix stripped, without query.
// Segments are split before decoding, so %2F stays inside its segment. A decoded segment that is or
// contains a "." or ".." path component is not found, except as the id in a route that creates a
// thread: its handler refuses that id. One slash at the end is allowed and is no empty id. HEAD
// matches GET. Nginx thread: no allocation beyond the parameters, no exceptions.
RouteMatch MatchRoute(std::string_view method, std::string_view raw_path);

// Every guarded route names a permission and every public one is on the allowlist; the failure
// lists the offending routes.
Status CheckRouteGuards();
Status CheckRouteGuards(std::span<const Route> routes);

}  // namespace agent_graph::api
