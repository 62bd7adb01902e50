// What the module keeps about one request, from the content handler to the access log.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/envelope.h"
#include "api/routes.h"
#include "bridge/exchange.h"
#include "bridge/outbox.h"
#include "bridge/request.h"
#include "config.h"
#include "ngx.h"
#include "reply_writer.h"
#include "socket.h"

namespace agent_graph::nginx {

class WorkerService;

struct RequestContext {
  RequestContext(ngx_http_request_t* http_request, const LocationConfig& location_config);

  ngx_http_request_t* request;
  const LocationConfig& location;
  WorkerService* worker = nullptr;
  ReplyWriter writer;
  bridge::RequestHead head;  // moved into the exchange at submission

  api::Transport transport = api::Transport::kHttp;
  std::unique_ptr<Socket> socket;  // once a WebSocket was accepted
  bool counted_socket = false;     // in the worker's number of open ones
  size_t socket_input_bytes = 0;   // of it, counted as buffered
  ngx_event_t message_deadline{};  // of the client, for a message that has begun

  // A body that the engine asks for only once it knows the caller.
  enum class LateBody : uint8_t { kNone, kUnread, kWanted, kReading };
  LateBody late_body = LateBody::kNone;
  bool streams_body = false;  // a late body that nobody keeps whole: passed on in pieces
  uint64_t body_credit = 0;   // bytes of it that may be read now
  bool body_stalled = false;  // it could be read on, but for credit

  std::optional<api::Reply> refusal;  // by the loop, of a request that the engine has

  // Set between submission and the exchange's end.
  std::optional<bridge::ExchangeAddress> address;
  // After its end: its bytes count as buffered until nginx has sent the last of them.
  std::shared_ptr<bridge::Exchange> finished;
  ngx_event_t reply_deadline{};  // of the client, for what is left then

  // For the access log. Times are monotonic microseconds, 0 when it did not happen.
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

  // Response headers that are the service's, at the beginning of nginx's list (header_filter.cc).
  size_t own_headers = 0;

  // What replaces an error page of nginx's own.
  bridge::HeaderList error_headers;
  std::string error_body;
  bool error_sent = false;
};

// The request's context at this location, made when it has none: with the times, names and ids that
// every answer needs. It dies with the request's pool. Null: no memory.
RequestContext* OpenContext(ngx_http_request_t* request, const LocationConfig& location);
RequestContext* FindContext(ngx_http_request_t* request);
// nginx has given the request to another location, as for a post_action, or has answered it itself;
// neither is told.
bool IsTaken(const RequestContext& context);

// Before an answer that does not wait for the end of the body: nginx throws the rest away, or the
// connection ends with the answer. None of it may pass for the next request. NGX_OK, or what to
// finalize the request with instead.
ngx_int_t DropBody(RequestContext& context);

// Sends a whole answer made in the loop. The result is for ngx_http_finalize_request. `lasting` is
// its body where that outlives the request and need not be copied.
ngx_int_t SendNativeReply(RequestContext& context, api::Reply reply, std::string_view outcome,
                          std::string_view lasting = {});

int64_t MonotonicMicros();

}  // namespace agent_graph::nginx
