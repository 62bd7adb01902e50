// WorkerService: bodies that are read after the engine has authenticated the caller.
#include <unistd.h>

#include <algorithm>

#include "body_reader.h"
#include "callback.h"
#include "worker_service.h"

namespace agent_graph::nginx {

// The request may have been destroyed when this returns.
void WorkerService::ReadLateBody(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  context.late_body = RequestContext::LateBody::kReading;
  request->request_body_no_buffering = context.streams_body;
  ngx_int_t rc =
      ngx_http_read_client_request_body(request, context.streams_body ? OnBodyStream : OnLateBody);
  if (rc >= NGX_HTTP_SPECIAL_RESPONSE) return Abandon(context, rc);
  // Reading the body has added a reference to the request; NGX_DONE removes it.
  ngx_http_finalize_request(request, NGX_DONE);
}

// `rc` is NGX_DONE unless reading failed.
void WorkerService::EndFailedBody(ngx_http_request_t* request, ngx_int_t rc) noexcept {
  if (rc == NGX_DONE) return;
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    context->worker->Abandon(*context, rc);
  });
}

// Called when the body is complete, possibly from within ReadLateBody.
void WorkerService::OnLateBody(ngx_http_request_t* request) noexcept {
  ngx_int_t rc = Guarded<ngx_int_t>(
      request->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR, [&]() -> ngx_int_t {
        RequestContext* context = FindContext(request);
        if (context == nullptr || !context->address) return NGX_DONE;
        WorkerService& worker = *context->worker;
        ExchangeSlot* slot = worker.exchanges_.Find(*context->address);
        return slot == nullptr ? NGX_DONE : worker.DeliverLateBody(*context, *slot);
      });
  EndFailedBody(request, rc);
}

// Called when bytes of a streamed body have arrived, possibly from within ReadLateBody.
void WorkerService::OnBodyStream(ngx_http_request_t* request) noexcept {
  ngx_int_t rc = Guarded<ngx_int_t>(
      request->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR, [&]() -> ngx_int_t {
        RequestContext* context = FindContext(request);
        if (context == nullptr || !context->address) return NGX_DONE;
        WorkerService& worker = *context->worker;
        ExchangeSlot* slot = worker.exchanges_.Find(*context->address);
        if (slot == nullptr) return NGX_DONE;
        // nginx already had the whole body, or read it at once. Other modules may still need it.
        if (!request->request_body_no_buffering) return worker.DeliverLateBody(*context, *slot);
        return worker.PassBodyOn(*context, *slot);
      });
  EndFailedBody(request, rc);
}

// Reads and passes on available bytes, up to the credit. Without credit the socket is not read:
// this is the backpressure from the consumer of the body to the client.
ngx_int_t WorkerService::PassBodyOn(RequestContext& context, ExchangeSlot& slot) {
  ngx_http_request_t* request = context.request;
  ngx_event_t* read = request->connection->read;
  for (;;) {
    std::string piece;
    if (!TakeBodyPiece(request, piece)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    context.body_credit -= std::min<uint64_t>(context.body_credit, piece.size());
    bool last = !request->reading_body;
    if (!piece.empty() || last) slot.exchange->DeliverBodyPiece(std::move(piece), last);
    if (last) {
      context.late_body = RequestContext::LateBody::kNone;
      return WatchClient(request) ? NGX_DONE : NGX_ERROR;
    }
    context.body_stalled = context.body_credit == 0;
    if (context.body_stalled) {
      request->read_event_handler = ngx_http_block_reading;
      if (read->timer_set) ngx_del_timer(read);  // the client is not the cause of the delay
      return NGX_DONE;
    }
    ngx_int_t rc = ngx_http_read_unbuffered_request_body(request);
    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) return rc;
    if (rc == NGX_AGAIN && request->request_body->bufs == nullptr) {
      request->read_event_handler = OnBodyStream;
      return NGX_DONE;
    }
  }
}

// Called when the request ends without the body that the engine may wait for.
void WorkerService::AbandonLateBody(RequestContext& context) {
  if (context.late_body == RequestContext::LateBody::kNone) return;
  ExchangeSlot* slot = exchanges_.Find(*context.address);
  if (slot == nullptr) return;
  slot->exchange->FailBody(Status(StatusCode::kCancelled, "the request body did not arrive"));
}

ngx_int_t WorkerService::DeliverLateBody(RequestContext& context, ExchangeSlot& slot) {
  context.late_body = RequestContext::LateBody::kNone;
  // nginx has enforced the limit for a streamed body.
  const uint64_t bytes_max = context.streams_body ? UINT64_MAX : BodyBytesMax(context.location);
  Result<bridge::Body> body = TakeBody(context.request, bytes_max);
  if (!body.ok()) {
    return body.status().code() == StatusCode::kResourceExhausted
               ? NGX_HTTP_REQUEST_ENTITY_TOO_LARGE
               : NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (!HasRoomFor(body->size())) return NGX_HTTP_SERVICE_UNAVAILABLE;
  slot.exchange->DeliverBody(std::move(body).value());
  return WatchClient(context.request) ? NGX_DONE : NGX_ERROR;
}

}  // namespace agent_graph::nginx
