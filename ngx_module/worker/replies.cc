// WorkerService: writes the replies of requests in flight, and ends the requests after them.
#include "ngx_module/callback.h"
#include "ngx_module/request/reply_deadline.h"
#include "ngx_module/worker/body_source.h"
#include "ngx_module/worker/websocket_connection.h"
#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {
namespace {

// Ends a reply that is shorter than announced: a client that knows the length would take the next
// response for the missing part. Closes the connection after the sent part (HTTP/1) or resets the
// stream (HTTP/2). `rc` is the writer's result; returns the code to finalize the request with.
ngx_int_t CutShort(ngx_http_request_t* request, ngx_int_t rc) {
  request->keepalive = 0;
  return request->http_version >= NGX_HTTP_VERSION_20 ? NGX_ERROR : rc;
}

// A reply that goes on does not wait for the rest of the body: discarding it would replace the
// watch for a client that disconnects. The connection is closed after the reply instead.
ngx_int_t LeaveBodyUnread(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  if (request->http_version >= NGX_HTTP_VERSION_20) {
    if (ngx_int_t dropped = DropBody(context); dropped != NGX_OK) return dropped;
  } else {
    ngx_event_t* read = request->connection->read;
    if (read->timer_set) ngx_del_timer(read);
    context.late_body.End();
    request->keepalive = 0;
    request->lingering_close = 1;  // otherwise the client might never see the end
  }
  return WorkerService::WatchClient(request) ? NGX_OK : NGX_ERROR;
}

}  // namespace

void WorkerService::Write(ExchangeSlot& slot) {
  RequestContext& context = *slot.context;
  if (IsSocket(context)) return context.websocket->Write(slot);
  LateBody& late_body = context.late_body;
  if (late_body.phase() == LateBody::Phase::kWanted) {
    if (!slot.ended && !context.writer.has_head()) return ReadLateBody(context);
    late_body.Refuse();
  }
  if (late_body.phase() == LateBody::Phase::kStalled && late_body.credit() > 0 && !slot.ended) {
    return ResumeLateBody(context);
  }
  if (slot.ended) {
    if (!context.writer.has_head()) {
      api::Reply reply = context.refusal ? *std::move(context.refusal)
                                         : context.render_error({api::ApiError::kInternal, "", {}},
                                                                context.request_id);
      return SendOwnReply(slot, std::move(reply), std::string(context.outcome));
    }
    // A truncated reply must not look complete, whichever way nginx ends it.
    context.writer.lacks_bytes() ? context.writer.Seal() : context.writer.Finish();
  }
  if (!context.writer.has_head()) return;
  // A complete reply is held until its end arrives, because a client that has it all may disconnect
  // at once.
  if (!slot.ended && context.writer.complete()) return;
  WriteReply(slot);
}

void WorkerService::WriteReply(ExchangeSlot& slot) {
  RequestContext& context = *slot.context;
  if (!context.late_body.is_none()) {
    // The answer was produced without the body or before its end.
    ngx_int_t dropped = slot.ended ? DropBody(context) : LeaveBodyUnread(context);
    if (dropped != NGX_OK) return FinishRequest(slot, dropped);
  }
  ngx_int_t rc = context.writer.Flush();
  if (uint64_t released = context.writer.TakeReleased(); released > 0) {
    slot.exchange->ReturnCredit(released);
  }
  if (slot.ended && context.writer.lacks_bytes() && !context.request->header_only) {
    rc = CutShort(context.request, rc);
  }
  if (slot.ended || rc == NGX_ERROR || rc > NGX_OK) return FinishRequest(slot, rc);
  WaitToWrite(slot, rc);
}

void WorkerService::WaitToWrite(ExchangeSlot& slot, ngx_int_t rc) {
  RequestContext& context = *slot.context;
  ngx_http_request_t* request = context.request;
  ngx_event_t* write = request->connection->write;
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(request, ngx_http_core_module));
  if (ngx_handle_write_event(write, core->send_lowat) != NGX_OK) {
    return FinishRequest(slot, NGX_ERROR);
  }
  if (write->delayed) return;  // limit_rate uses the timer
  if (rc == NGX_AGAIN && write->active && !write->ready) {
    // New lines alone do not restart the timer: only sent bytes show that the client reads.
    if (context.writer.TakeProgress() || !write->timer_set) {
      ngx_add_timer(write, core->send_timeout);
    }
  } else if (write->timer_set) {
    ngx_del_timer(write);
  }
}

// Ends the request with a reply of the event loop, for an exchange that sent none.
void WorkerService::SendOwnReply(ExchangeSlot& slot, api::Reply reply, const std::string& outcome) {
  RequestContext& context = *slot.context;
  ReleaseExchange(context, slot);
  ngx_http_finalize_request(context.request, SendNativeReply(context, std::move(reply), outcome));
}

// The event loop is done with the exchange; nginx sends the rest and ends the request.
void WorkerService::FinishRequest(ExchangeSlot& slot, ngx_int_t rc) {
  RequestContext& context = *slot.context;
  if (!slot.ended) return Abandon(context, rc);
  context.finished = slot.exchange;
  ReleaseExchange(context, slot);
  if (rc == NGX_AGAIN) SetReplyDeadline(context);
  ngx_http_finalize_request(context.request, rc);
}

void WorkerService::OnWritable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    if (context == nullptr || !context->address) return;
    WorkerService& worker = *context->worker;
    ExchangeSlot* slot = worker.SlotOf(*context);
    if (slot == nullptr) return;
    ngx_event_t* write = request->connection->write;
    if (write->timedout && !write->delayed) {
      ngx_log_error(NGX_LOG_INFO, request->connection->log, NGX_ETIMEDOUT, "client timed out");
      request->connection->timedout = 1;
      return worker.Abandon(*context, NGX_HTTP_REQUEST_TIME_OUT);
    }
    worker.Write(*slot);
  });
}

}  // namespace agent_graph::nginx
