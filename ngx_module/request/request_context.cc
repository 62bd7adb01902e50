#include "ngx_module/request/request_context.h"

#include <new>

#include "base/clock.h"
#include "base/ids.h"
#include "ngx_module/request/request_target.h"
#include "ngx_module/status/duration_zone.h"
#include "ngx_module/status/status_rows.h"

namespace agent_graph::nginx {
namespace {

constexpr size_t kRequestIdBytesMax = 64;

int64_t ToMicros(MonotonicClock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

void CountEnd(const RequestContext& context) {
  const ServiceConfig& service = *context.location.service;
  const RouteClass route = RouteClassOf(context.route);
  CountRequest(service, route, context.outcome, context.request->headers_out.status);
  // A WebSocket may stay open for days.
  if (context.transport != api::Transport::kHttp) return;
  CountDuration(service, DurationKind::kRequest, route, MonotonicMicros() - context.received);
  if (!context.streamed || context.first_chunk == 0) return;
  CountDuration(service, DurationKind::kFirstChunk, route, context.first_chunk - context.received);
}

void DestroyContext(void* data) noexcept {
  auto* context = static_cast<RequestContext*>(data);
  // A context that an internal redirect left behind does not belong to the request any more.
  if (FindContext(context->request) == context) {
    CountEnd(*context);
  }
  context->~RequestContext();
}

bool IsRequestId(std::string_view text) {
  if (text.empty() || text.size() > kRequestIdBytesMax) return false;
  for (char c : text) {
    bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '-' || c == '_';
    if (!allowed) return false;
  }
  return true;
}

bool IsHttps(const ngx_http_request_t* request) {
#if (NGX_SSL)
  return request->connection->ssl != nullptr;
#else
  return false;
#endif
}

// True if reading has begun and is not complete. nginx does not discard such a body.
bool IsHalfRead(const ngx_http_request_t* request) {
  if (request->request_body == nullptr || request->discard_body) return false;
  bool has_body = request->headers_in.chunked || request->headers_in.content_length_n > 0;
  return has_body && request->request_body->rest != 0;
}

}  // namespace

int64_t MonotonicMicros() {
  return ToMicros(MonotonicClock::now());
}

RequestContext::RequestContext(ngx_http_request_t* http_request,
                               const LocationConfig& location_config)
    : request(http_request), location(location_config), writer(http_request) {}

void RequestContext::TakeNote(bridge::Exchange& exchange) {
  std::optional<bridge::RunNote> note = exchange.TakeNote();
  if (!note) return;
  if (!note->thread_id.empty()) thread_id = std::move(note->thread_id);
  if (!note->run_id.empty()) run_id = std::move(note->run_id);
  if (first_item == 0) first_item = ToMicros(note->noted_at);
}

RequestContext* OpenContext(ngx_http_request_t* request, const LocationConfig& location) {
  RequestContext* known = FindContext(request);
  if (known != nullptr && &known->location == &location) return known;
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(request->pool, sizeof(RequestContext));
  if (cleanup == nullptr) return nullptr;
  static_assert(alignof(RequestContext) <= NGX_ALIGNMENT);
  auto* context = new (cleanup->data) RequestContext(request, location);
  cleanup->handler = DestroyContext;
  ngx_http_set_ctx(request, context, ngx_http_agent_graph_module);
  context->received = MonotonicMicros();
  context->https = IsHttps(request);
  context->origin = FindRequestHeader(request, "origin");
  // Until the route is known, an error has the form of the routes below its path.
  if (std::optional<RequestTarget> target = LocateTarget(request, location.base_path)) {
    context->render_error = api::RendererOf(location.service->settings->facades, target->path);
    context->is_below_base_path = true;
    context->head.path = std::move(target->path);
    context->head.query = std::move(target->query);
  }
  std::string_view request_id = FindRequestHeader(request, "x-request-id");
  context->request_id = IsRequestId(request_id) ? std::string(request_id) : NewUuid();
  return context;
}

RequestContext* FindContext(ngx_http_request_t* request) {
  return static_cast<RequestContext*>(
      ngx_http_get_module_ctx(request, ngx_http_agent_graph_module));
}

bool IsTaken(const RequestContext& context) {
  return FindContext(context.request) != &context ||
         (context.request->header_sent && !context.writer.head_sent());
}

ngx_int_t DropBody(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  const LateBody::Phase phase = context.late_body.phase();
  if (phase == LateBody::Phase::kReading || phase == LateBody::Phase::kStalled) {
    request->read_event_handler = ngx_http_block_reading;
  }
  context.late_body.End();
  if (request->headers_in.expect != nullptr && !request->expect_tested) {
    // The client waits for "100 Continue" and need not send a body that will not be read.
    request->expect_tested = 1;
    request->keepalive = 0;
  }
  if (IsHalfRead(request)) {
    request->keepalive = 0;
    request->lingering_close = 1;  // otherwise the client might never see the answer
    return NGX_OK;
  }
  return ngx_http_discard_request_body(request);
}

ngx_int_t SendNativeReply(RequestContext& context, api::Reply reply, std::string_view outcome,
                          std::string_view lasting) {
  context.outcome = outcome;
  context.ended = MonotonicMicros();
  ngx_int_t rc = DropBody(context);
  if (rc != NGX_OK) return rc;
  bridge::ReplyHead head;
  head.status = reply.status;
  head.headers = std::move(reply.headers);
  head.content_length = static_cast<int64_t>(reply.body.size() + lasting.size());
  context.writer.SetHead(std::move(head));
  context.writer.Append(std::move(reply.body));
  context.writer.AppendLasting(lasting);
  context.writer.Finish();
  return context.writer.Flush();
}

}  // namespace agent_graph::nginx
