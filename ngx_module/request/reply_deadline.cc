#include "ngx_module/request/reply_deadline.h"

#include "ngx_module/callback.h"

namespace agent_graph::nginx {
namespace {

constexpr uint64_t kBytesPerSecondMin = 16 * 1024;
constexpr uint64_t kMillisPerSecond = 1000;

void OnReplyDeadline(ngx_event_t* event) noexcept {
  Guarded(ngx_cycle->log, [&] {
    auto* context = static_cast<RequestContext*>(event->data);
    if (IsTaken(*context)) return;
    ngx_http_request_t* request = context->request;
    ngx_connection_t* connection = request->connection;
    ngx_http_set_log_request(connection->log, request);
    ngx_log_error(NGX_LOG_INFO, connection->log, NGX_ETIMEDOUT,
                  "client reads its reply too slowly");
    context->outcome = "timeout";
    connection->timedout = 1;
    ngx_http_finalize_request(request, NGX_HTTP_REQUEST_TIME_OUT);
    ngx_http_run_posted_requests(connection);  // the request may be gone by now
  });
}

}  // namespace

ngx_msec_t ReadingTime(uint64_t bytes) {
  return bytes / kBytesPerSecondMin * kMillisPerSecond;
}

void SetReplyDeadline(RequestContext& context) {
  ngx_event_t& event = context.reply_deadline;
  event.handler = OnReplyDeadline;
  event.data = &context;
  event.log = ngx_cycle->log;
  event.cancelable = 1;
  ngx_add_timer(&event, context.location.run_timeout + ReadingTime(context.writer.unsent_bytes()));
}

void ClearReplyDeadline(RequestContext& context) {
  if (context.reply_deadline.timer_set) ngx_del_timer(&context.reply_deadline);
}

}  // namespace agent_graph::nginx
