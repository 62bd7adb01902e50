// A row of the route table: the method and path of a route and all that is known about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/envelope.h"
#include "api/http/fields.h"
#include "auth/permission.h"

namespace agent_graph::bridge {
struct SocketMessage;
}

namespace agent_graph::settings {
struct FacadeSettings;
struct FacadesSettings;
struct Settings;
}  // namespace agent_graph::settings

namespace agent_graph::api {

class HandlerContext;

enum class Method : uint8_t { kGet, kPost, kPut, kDelete };
// Returns "GET", "POST" and so on.
std::string_view NameOf(Method method);

enum class BodyKind : uint8_t {
  kNone,
  kJson,
  kOptionalJson,
  kStream,  // the handler takes it in pieces; there is no size limit
};
enum class Access : uint8_t {
  kPublic,   // no credential is checked
  kGuarded,  // the caller needs the route's permission
  kDocumentation,
};
// The protocol that a route speaks. kNone: that of this API.
enum class Facade : uint8_t { kNone, kOpenAi, kAgUi, kMcp };
enum class Transport : uint8_t {
  kHttp,
  kSocket,      // a WebSocket of JSON messages
  kLiveSocket,  // a WebSocket of audio: a message that is too large is skipped
};

// Examples in the OpenAPI document. A test sends each of them.
struct RouteExample {
  std::string_view request = {};  // JSON of the body; for a WebSocket: of the client's first frame
  // JSON of `data` in the response, or of one line of a stream; in a façade of the whole response.
  std::string_view answer = {};
  std::string_view events = {};  // the response as server-sent events; empty: never
};

struct Route {
  Method method;
  std::string_view pattern;  // "/v1/threads/{thread_id}/state"
  Access access = Access::kGuarded;
  auth::Permission permission = {};  // for guarded routes
  // The request creates the thread that its path names. Only such routes match an id with a "." or
  // ".." component: the handler refuses it as an unusable id. For all others no such thread exists.
  bool creates_thread = false;
  // A thread of another user is answered like one that does not exist: 404. If the path names the
  // thread, it must exist.
  bool hides_foreign_threads = false;
  BodyKind body = BodyKind::kNone;
  // The request takes its turn (EnterPageReads) before it reads. Set it if the answer contains
  // stored data that may exceed 64 KiB: a page, a message, a thread's state. A handler that waits
  // for something slow before it reads takes its turn itself.
  bool reads_page = false;
  bool native = false;                         // answered in the event loop
  void (*handler)(HandlerContext&) = nullptr;  // runs on a fiber; null for native routes
  std::string_view summary;
  std::string_view description = {};  // adds to the summary, in CommonMark
  RouteShape shape = {};
  Transport transport = Transport::kHttp;
  // Handles one message of a WebSocket. `handler` is called once, after it was accepted.
  void (*on_message)(HandlerContext&, bridge::SocketMessage&) = nullptr;
  // Returns an error if these settings disable the route. Called after the guard, before the body
  // is read.
  std::optional<ErrorInfo> (*closed)(const settings::Settings&) = nullptr;
  // Renders the errors of the route. Routes of other protocols have renderers of their own.
  ErrorRenderer render_error = ErrorReply;
  // Completes the headers of every response of the route; null: nothing to add.
  void (*complete_headers)(const HandlerContext&, int status, bridge::HeaderList&) = nullptr;
  Facade facade = Facade::kNone;
  RouteExample example = {};
};

// `data` of a streaming route: chunks without an envelope.
inline constexpr std::string_view kStreamAnswer = "StreamChunk";
// `data` of a file route: the bytes of the file.
inline constexpr std::string_view kBytesAnswer = "bytes";

}  // namespace agent_graph::api
