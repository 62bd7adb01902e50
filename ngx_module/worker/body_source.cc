#include "ngx_module/worker/body_source.h"

#include <unistd.h>

#include "ngx_module/callback.h"
#include "ngx_module/request/body_reader.h"
#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {
namespace {

void OnBodyStream(ngx_http_request_t* request) noexcept;

// `rc` is NGX_DONE unless reading failed.
void EndFailedBody(ngx_http_request_t* request, ngx_int_t rc) noexcept {
  if (rc == NGX_DONE) return;
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    context->worker->Abandon(*context, rc);
  });
}

ngx_int_t DeliverWhole(RequestContext& context, ExchangeSlot& slot) {
  context.late_body.End();
  // nginx has enforced the limit for a streamed body.
  const uint64_t bytes_max =
      context.late_body.streamed() ? UINT64_MAX : BodyBytesMax(context.location);
  Result<bridge::Body> body = TakeBody(context.request, bytes_max);
  if (!body.ok()) {
    return body.status().code() == StatusCode::kResourceExhausted
               ? NGX_HTTP_REQUEST_ENTITY_TOO_LARGE
               : NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (!context.worker->HasRoomFor(body->size())) return NGX_HTTP_SERVICE_UNAVAILABLE;
  slot.exchange->body().Deliver(std::move(body).value());
  return WorkerService::WatchClient(context.request) ? NGX_DONE : NGX_ERROR;
}

// Reads and passes on available bytes, up to the credit. Without credit the socket is not read:
// this is the backpressure from the consumer of the body to the client.
ngx_int_t DeliverPieces(RequestContext& context, ExchangeSlot& slot) {
  ngx_http_request_t* request = context.request;
  LateBody& late_body = context.late_body;
  ngx_event_t* read = request->connection->read;
  if (late_body.phase() == LateBody::Phase::kStalled) late_body.Resume();
  for (;;) {
    std::string piece;
    if (!TakeBodyPiece(request, piece)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    late_body.UseCredit(piece.size());
    bool last = !request->reading_body;
    if (!piece.empty() || last) slot.exchange->body().DeliverPiece(std::move(piece), last);
    if (last) {
      late_body.End();
      return WorkerService::WatchClient(request) ? NGX_DONE : NGX_ERROR;
    }
    if (late_body.credit() == 0) {
      late_body.Stall();
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

// Calls `deliver` for the request's exchange if it still has one.
template <typename Deliver>
void DeliverIfAwaited(ngx_http_request_t* request, Deliver&& deliver) noexcept {
  ngx_int_t rc = Guarded<ngx_int_t>(
      request->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR, [&]() -> ngx_int_t {
        RequestContext* context = FindContext(request);
        ExchangeSlot* slot = context == nullptr ? nullptr : context->worker->SlotOf(*context);
        return slot == nullptr ? NGX_DONE : deliver(*context, *slot);
      });
  EndFailedBody(request, rc);
}

// Called when the body is complete, possibly from within ReadLateBody.
void OnWholeBody(ngx_http_request_t* request) noexcept {
  DeliverIfAwaited(request, DeliverWhole);
}

// Called when bytes of a streamed body have arrived, possibly from within ReadLateBody.
void OnBodyStream(ngx_http_request_t* request) noexcept {
  DeliverIfAwaited(request, [&](RequestContext& context, ExchangeSlot& slot) {
    // nginx already had the whole body, or read it at once. Other modules may still need it.
    return request->request_body_no_buffering ? DeliverPieces(context, slot)
                                              : DeliverWhole(context, slot);
  });
}

}  // namespace

void ReadLateBody(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  const bool streamed = context.late_body.streamed();
  context.late_body.BeginReading();
  request->request_body_no_buffering = streamed;
  ngx_int_t rc = ngx_http_read_client_request_body(request, streamed ? OnBodyStream : OnWholeBody);
  if (rc >= NGX_HTTP_SPECIAL_RESPONSE) return context.worker->Abandon(context, rc);
  // Reading the body has added a reference to the request; NGX_DONE removes it.
  ngx_http_finalize_request(request, NGX_DONE);
}

void ResumeLateBody(RequestContext& context) {
  // HTTP/2 data may have started the timer meanwhile.
  context.request->connection->read->timedout = 0;
  OnBodyStream(context.request);
}

void AbandonLateBody(RequestContext& context, ExchangeSlot& slot) {
  if (context.late_body.is_none()) return;
  slot.exchange->body().Fail(Status(StatusCode::kCancelled, "the request body did not arrive"));
}

}  // namespace agent_graph::nginx
