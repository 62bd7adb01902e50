// How a request and its exchange part before the exchange has ended: the client goes, nginx ends
// the request, or takes it for something else.
#include "callback.h"
#include "reply_deadline.h"
#include "worker_service.h"

namespace agent_graph::nginx {
namespace {

bool IsLeaving(const ngx_connection_t* connection) {
  return ngx_terminate || (ngx_exiting && connection->close);
}

}  // namespace

// A client that goes away is noticed here. nginx then ends the request, or does something else with
// it first.
void WorkerService::OnClientReadable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    if (context == nullptr || !context->address) return ngx_http_test_reading(request);
    WorkerService& worker = *context->worker;
    const bridge::ExchangeAddress address = *context->address;
    ngx_http_test_reading(request);  // the request may be gone by now
    if (ExchangeSlot* slot = worker.exchanges_.Find(address)) worker.LeaveIfTaken(*slot);
  });
}

bool WorkerService::LeaveIfTaken(ExchangeSlot& slot) {
  if (slot.context != nullptr && IsTaken(*slot.context)) RequestGone(*slot.context);
  return slot.exchange != nullptr;
}

void WorkerService::Abandon(RequestContext& context, ngx_int_t rc) {
  // Not left to the cleanup: a post_action comes before it.
  RequestGone(context);
  ngx_http_finalize_request(context.request, rc);
}

// Runs once, when nginx ends the request for whatever reason.
void WorkerService::OnRequestGone(void* data) noexcept {
  auto* context = static_cast<RequestContext*>(data);
  Guarded(ngx_cycle->log, [&] {
    context->worker->RequestGone(*context);
    ClearReplyDeadline(*context);
    ForgetMessage(*context);
    context->worker->CountSocketInput(*context, 0);
  });
}

void WorkerService::RequestGone(RequestContext& context) {
  if (!context.address) return;
  ExchangeSlot* slot = exchanges_.Find(*context.address);
  AbandonLateBody(context);
  context.ended = MonotonicMicros();
  ngx_connection_t* connection = context.request->connection;
  if (slot == nullptr) {
    context.address.reset();
    return;
  }
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

// The request no longer has to do with its exchange, which goes on alone or is cancelled.
void WorkerService::LeaveExchange(RequestContext& context, ExchangeSlot& slot,
                                  runtime::CancelReason reason) {
  context.address.reset();
  // A live session has to finish what the user has heard half of.
  bool may_go_on = context.location.on_abort == static_cast<ngx_uint_t>(OnAbort::kContinue) ||
                   context.transport == api::Transport::kLiveSocket;
  bool goes_on = may_go_on && reason == runtime::CancelReason::kClientGone;
  bool idle = context.socket != nullptr && slot.turns == 0;
  if (goes_on && !slot.ended && !idle) {
    slot.context = nullptr;
    // What was not sent counts as sent, or the run would wait for room for ever.
    slot.exchange->ReturnCredit(context.socket != nullptr ? context.socket->DiscardUnsent()
                                                          : context.writer.DiscardUnsent());
    if (context.socket != nullptr) slot.exchange->CloseMailbox();
    return;
  }
  bridge::ExchangePtr exchange = slot.exchange;
  exchanges_.Release(slot);
  exchange->Cancel(reason);
}

}  // namespace agent_graph::nginx
