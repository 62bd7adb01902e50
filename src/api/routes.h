// The route table. The nginx thread uses it for routing and method checks, the guard for
// permissions, the start-up check for missing guards, and the engine for handlers.
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
  kStream,  // the handler takes it in pieces; there is no size limit
};
enum class Access : uint8_t { kPublic, kGuarded, kDocumentation };
enum class Transport : uint8_t {
  kHttp,
  kSocket,      // a WebSocket of JSON messages
  kLiveSocket,  // a WebSocket of audio: a message that is too large is skipped
};

// A row of the route table.
struct Route {
  Method method;
  std::string_view pattern;  // "/v1/threads/{thread_id}/state"
  Access access = Access::kGuarded;
  std::string_view resource = {};  // of guarded routes: "checkpointer"
  std::string_view action = {};    // "read"
  BodyKind body = BodyKind::kNone;
  bool native = false;                         // answered in the event loop
  void (*handler)(HandlerContext&) = nullptr;  // runs on a fiber; null for native routes
  std::string_view summary;
  RouteShape shape = {};
  Transport transport = Transport::kHttp;
  // Handles one message of a WebSocket. `handler` is called once, after it was accepted.
  void (*on_message)(HandlerContext&, bridge::SocketMessage&) = nullptr;
  // Returns an error if these settings disable the route. Called after the guard, before the body
  // is read.
  std::optional<ErrorInfo> (*closed)(const settings::Settings&) = nullptr;
};

// `data` of a streaming route: chunks without an envelope.
inline constexpr std::string_view kStreamAnswer = "StreamChunk";
// `data` of a file route: the bytes of the file.
inline constexpr std::string_view kBytesAnswer = "bytes";

// Returns the table. Thread-safe.
std::span<const Route> Routes();

struct RouteMatch {
  enum class Kind : uint8_t { kFound, kNotFound, kMethodNotAllowed };
  Kind kind = Kind::kNotFound;
  uint16_t route = 0;                        // index into Routes()
  bool trailing_slash = false;               // the path is the route's path with a trailing slash
  std::vector<std::string> path_parameters;  // decoded once
  std::string allow;                         // for kMethodNotAllowed: "GET, HEAD, OPTIONS"
};

// `raw_path` is the request target's path as sent, location prefix stripped, without query.
// Segments are split before decoding, so %2F stays inside its segment. A decoded segment that is or
// contains a "." or ".." path component is not found, except as the id in a route that creates a
// thread: its handler refuses that id. One slash at the end is allowed and is no empty id. HEAD
// matches GET. Nginx thread: no allocation beyond the parameters, no exceptions.
RouteMatch MatchRoute(std::string_view method, std::string_view raw_path);

// Checks that every guarded route has a permission and that every public route is on the allowlist.
// A failure lists the other routes.
Status CheckRouteGuards();
Status CheckRouteGuards(std::span<const Route> routes);

}  // namespace agent_graph::api
