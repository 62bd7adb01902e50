// The module's data of one request, from the content handler to the access log.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/http/envelope.h"
#include "api/routes.h"
#include "bridge/exchange.h"
#include "bridge/outbox.h"
#include "bridge/request.h"
#include "ngx_module/config.h"
#include "ngx_module/ngx.h"
#include "ngx_module/request/late_body.h"
#include "ngx_module/request/reply_writer.h"

namespace agent_graph::nginx {

class WebSocketConnection;
class WorkerService;

// Allocated in the request's pool. Used by the event loop's thread only.
struct RequestContext {
  RequestContext(ngx_http_request_t* http_request, const LocationConfig& location_config);

  ngx_http_request_t* request;
  const LocationConfig& location;
  WorkerService* worker = nullptr;
  ReplyWriter writer;
  // Moved into the exchange by Submit. Until then it has the path and the query, if the path is one
  // of this location.
  bridge::RequestHead head;
  bool is_below_base_path = false;
  // $remote_user was read before nginx could check its password (nginx_user.h).
  bool names_user_early = false;

  api::Transport transport = api::Transport::kHttp;
  api::ErrorRenderer render_error = api::ErrorReply;  // the route's, once it is known
  // Set from the handshake of a WebSocket on. Has no other owner; a unique_ptr would need the
  // complete type here.
  std::shared_ptr<WebSocketConnection> websocket;
  LateBody late_body;

  std::optional<api::Reply> refusal;  // answer of the event loop to a request that was submitted

  // Set from submission until the exchange ends.
  std::optional<bridge::ExchangeAddress> address;
  // Set when the exchange has ended: its bytes count as buffered until nginx has sent the last of
  // them.
  std::shared_ptr<bridge::Exchange> finished;
  ngx_event_t reply_deadline{};  // for the client to read the rest of the reply

  // For the access log. Times are monotonic, in microseconds; 0: did not happen.
  std::string_view route;  // pattern in the route table
  std::string request_id;
  std::string origin;
  bool https = false;
  std::string thread_id;
  std::string run_id;
  std::string outcome;
  int64_t received = 0;
  int64_t submitted = 0;
  int64_t first_item = 0;
  int64_t first_chunk = 0;
  int64_t ended = 0;
  uint16_t socket_close_code = 0;
  bool streamed = false;  // the reply is sent while it is produced

  // Number of response headers of the service, at the beginning of nginx's list (header_filter.cc).
  size_t own_headers = 0;

  // Takes over what the engine has noted for the access log.
  void TakeNote(bridge::Exchange& exchange);

  // Headers and body that replace an error page of nginx.
  bridge::HeaderList error_headers;
  std::string error_body;
  bool error_sent = false;
};

// Returns the request's context at this location. Creates it, with the times, names and ids that
// every answer needs, if there is none. It is destroyed with the request's pool. Null: out of
// memory.
RequestContext* OpenContext(ngx_http_request_t* request, const LocationConfig& location);
// The request's context; null if it has none.
RequestContext* FindContext(ngx_http_request_t* request);
// True if nginx has passed the request to another location, as for a post_action, or has answered
// it itself. nginx does not notify the module of either.
bool IsTaken(const RequestContext& context);

// Call before an answer that does not wait for the end of the body: nginx discards the rest, or the
// connection is closed after the answer, so that no rest is taken for the next request. Returns
// NGX_OK or the code to finalize the request with instead.
ngx_int_t DropBody(RequestContext& context);

// Sends a complete answer from the event loop. Pass the result to ngx_http_finalize_request.
// `lasting`: the body, if it outlives the request and need not be copied.
ngx_int_t SendNativeReply(RequestContext& context, api::Reply reply, std::string_view outcome,
                          std::string_view lasting = {});

// Monotonic time in microseconds.
int64_t MonotonicMicros();

}  // namespace agent_graph::nginx
