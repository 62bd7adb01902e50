// WorkerService: requests that leave their exchange before it has ended, because the client
// disconnects, nginx ends the request, or nginx uses it for something else.
#include "ngx_module/callback.h"
#include "ngx_module/request/reply_deadline.h"
#include "ngx_module/worker/body_source.h"
#include "ngx_module/worker/websocket_connection.h"
#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {
namespace {

bool IsLeaving(const ngx_connection_t* connection) {
  return ngx_terminate || (ngx_exiting && connection->close);
}

// True if the exchange continues without its client, whose WebSocket has ended if there is one.
bool ContinuesAlone(const RequestContext& context, ExchangeSlot& slot) {
  const bool has_session = context.websocket != nullptr && slot.exchange->socket().Close();
  // A session completes a turn of which the user has heard a part. Before it begins, for example
  // while it waits for its thread, there is none.
  if (context.transport == api::Transport::kLiveSocket) return has_session;
  return context.location.on_abort == static_cast<ngx_uint_t>(OnAbort::kContinue);
}

}  // namespace

// Detects a client that disconnects. nginx then ends the request, possibly after a post_action.
void WorkerService::OnClientReadable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    if (context == nullptr || !context->address) return ngx_http_test_reading(request);
    WorkerService& worker = *context->worker;
    const bridge::ExchangeAddress address = *context->address;
    ngx_http_test_reading(request);  // the request may have been destroyed
    if (ExchangeSlot* slot = worker.exchanges_.Find(address)) worker.LeaveIfTaken(*slot);
  });
}

bool WorkerService::LeaveIfTaken(ExchangeSlot& slot) {
  if (slot.context != nullptr && IsTaken(*slot.context)) RequestGone(*slot.context);
  return slot.exchange != nullptr;
}

void WorkerService::Abandon(RequestContext& context, ngx_int_t rc) {
  // Not left to the cleanup handler, because a post_action runs before that.
  RequestGone(context);
  ngx_http_finalize_request(context.request, rc);
}

// Called once, when nginx ends the request for any reason.
void WorkerService::OnRequestGone(void* data) noexcept {
  auto* context = static_cast<RequestContext*>(data);
  Guarded(ngx_cycle->log, [&] {
    context->worker->RequestGone(*context);
    ClearReplyDeadline(*context);
    if (context->websocket != nullptr) context->websocket->OnRequestGone();
  });
}

void WorkerService::RequestGone(RequestContext& context) {
  if (!context.address) return;
  ExchangeSlot* slot = exchanges_.Find(*context.address);
  context.ended = MonotonicMicros();
  ngx_connection_t* connection = context.request->connection;
  if (slot == nullptr) {
    context.address.reset();
    return;
  }
  AbandonLateBody(context, *slot);
  auto reason = runtime::CancelReason::kClientGone;
  context.outcome = "client_abort";
  if (IsLeaving(connection)) {
    reason = runtime::CancelReason::kShutdown;
    context.outcome = "shutdown";
  } else if (slot->overdue) {
    reason = runtime::CancelReason::kDeadline;
    context.outcome = "timeout";
  } else if (connection->timedout) {
    context.outcome = "timeout";
  }
  LeaveExchange(context, *slot, reason);
}

// Detaches the request from its exchange, which continues without it or is cancelled.
void WorkerService::LeaveExchange(RequestContext& context, ExchangeSlot& slot,
                                  runtime::CancelReason reason) {
  context.TakeNote(*slot.exchange);
  context.address.reset();
  const bool is_socket = IsSocket(context);
  const bool idle = is_socket && WebSocketConnection::IsIdle(slot);
  const bool may_go_on = reason == runtime::CancelReason::kClientGone && !slot.ended && !idle;
  if (may_go_on && ContinuesAlone(context, slot)) {
    slot.context = nullptr;
    // Unsent bytes count as sent, otherwise the run would wait for credit forever.
    slot.exchange->ReturnCredit(is_socket ? context.websocket->DiscardUnsent()
                                          : context.writer.DiscardUnsent());
    return;
  }
  bridge::ExchangePtr exchange = slot.exchange;
  exchanges_.Release(slot);
  exchange->Cancel(reason);
}

}  // namespace agent_graph::nginx
