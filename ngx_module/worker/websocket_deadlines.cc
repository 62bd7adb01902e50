// WebSocketConnection: the deadlines of a message that has begun, and of a client that does not
// read the rest of its frames while the WebSocket closes.
#include "ngx_module/callback.h"
#include "ngx_module/request/reply_deadline.h"
#include "ngx_module/worker/websocket_connection.h"
#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {
namespace {

void StartOnce(ngx_event_t& event, ngx_event_handler_pt handler, RequestContext& context,
               ngx_msec_t time) {
  if (event.timer_set) return;
  event.handler = handler;
  event.data = &context;
  event.log = ngx_cycle->log;
  event.cancelable = 1;
  ngx_add_timer(&event, time);
}

void Stop(ngx_event_t& event) {
  if (event.timer_set) ngx_del_timer(&event);
}

template <typename Body>
void OnDeadline(ngx_event_t* event, Body&& body) noexcept {
  Guarded(ngx_cycle->log, [&] {
    auto* context = static_cast<RequestContext*>(event->data);
    ngx_connection_t* connection = context->request->connection;
    ngx_http_set_log_request(connection->log, context->request);
    body(*context->websocket, connection);
    ngx_http_run_posted_requests(connection);  // the request may have been destroyed
  });
}

}  // namespace

void WebSocketConnection::StartDeadlines() {
  const websocket::Endpoint& endpoint = socket_->endpoint();
  const bool receives =
      endpoint.open() && endpoint.in_message() && (!socket_->paused() || is_stalled());
  if (receives) {
    // A message that arrives byte by byte would otherwise occupy its buffer forever.
    StartOnce(message_deadline_, OnMessageDeadline, context_, context_.location.run_timeout);
  } else {
    StopMessageDeadline();
  }
  if (!endpoint.open() && socket_->unsent_bytes() > 0) {
    // The frames stay in memory, and send_timeout restarts with every byte that the client takes.
    StartOnce(
        close_deadline_, OnCloseDeadline, context_,
        context_.location.socket_close_timeout + ReadingTime(socket_->unacknowledged_bytes()));
  } else {
    Stop(close_deadline_);
  }
}

void WebSocketConnection::StopMessageDeadline() {
  Stop(message_deadline_);
}

void WebSocketConnection::StopDeadlines() {
  StopMessageDeadline();
  Stop(close_deadline_);
}

void WebSocketConnection::OnMessageDeadline(ngx_event_t* event) noexcept {
  OnDeadline(event, [](WebSocketConnection& websocket, ngx_connection_t*) {
    websocket.CloseForFault(websocket::close_code::kPolicy, "message_timeout",
                            "the message took too long");
    websocket.Settle(websocket.socket_->Write());
  });
}

void WebSocketConnection::OnCloseDeadline(ngx_event_t* event) noexcept {
  OnDeadline(event, [](WebSocketConnection& websocket, ngx_connection_t* connection) {
    ngx_log_error(NGX_LOG_INFO, connection->log, NGX_ETIMEDOUT,
                  "websocket client reads its last frames too slowly");
    connection->timedout = 1;
    websocket.context_.outcome = "timeout";
    websocket.Settle(Socket::Life::kLost);
  });
}

}  // namespace agent_graph::nginx
