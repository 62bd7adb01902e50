#include "ngx_module/worker/worker_service.h"

#include <algorithm>

#include "api/http/rate_limit.h"
#include "base/process.h"
#include "ngx_module/callback.h"
#include "ngx_module/request/rate_limit.h"
#include "ngx_module/status/service_zone.h"
#include "ngx_module/worker/websocket_connection.h"

namespace agent_graph::nginx {
namespace {

// A worker that leaves asks runs to leave between two nodes, this long before it cuts them.
constexpr ngx_msec_t kHandOverLead = 10'000;

// Runs `body` with the connection's log context, then runs the posted requests of that connection.
template <typename Body>
void InRequest(ngx_http_request_t* request, Body&& body) {
  ngx_connection_t* connection = request->connection;
  ngx_http_set_log_request(connection->log, request);
  body();
  ngx_http_run_posted_requests(connection);  // the request may have been destroyed
}

// Identifies this nginx: the same in all workers and over reloads, different after a restart.
std::string NameOfNginx() {
  const pid_t master = ngx_process == NGX_PROCESS_SINGLE ? getpid() : getppid();
  return std::to_string(master) + ":" + std::to_string(ProcessStartTime(master));
}

// Without worker_shutdown_timeout nginx waits for requests without a limit, but accepted runs have
// one: another worker can continue them.
LeavingRuns::Times TimesOfLeaving() {
  const MainConfig* main = FindMainConfig(const_cast<ngx_cycle_t&>(*ngx_cycle));
  const auto* core =
      reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module));
  LeavingRuns::Times times;
  times.cut = core->shutdown_timeout != 0 ? core->shutdown_timeout : main->handover;
  times.hand_over = times.cut - std::min(times.cut, kHandOverLead);
  times.exit = times.cut + main->exit_timeout;
  // nginx closes their connections at worker_shutdown_timeout.
  times.readers = std::min(main->shutdown_jitter, times.cut / 2);
  return times;
}

}  // namespace

WorkerService::WorkerService(const ServiceConfig& config)
    : config_(config), exchanges_(this, OnTimer) {}

Status WorkerService::Start(ngx_cycle_t* cycle, int threads, bool state_in_process) {
  service::ServiceOptions options;
  options.name = config_.name;
  options.threads = config_.threads > 0 ? config_.threads : threads;
  options.queue = config_.queue;
  options.state_directory = config_.state_directory;
  options.state_in_process = state_in_process;
  // Unique among the live children of a master, including draining ones.
  options.worker = static_cast<uint32_t>(ngx_process_slot);
  auto* core = reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(cycle->conf_ctx, ngx_core_module));
  options.state_user = core->user;
  options.nginx = NameOfNginx();
  if (const ServiceZone* zone = FindZone(config_)) options.token_table = zone->token_table;
  AG_ASSIGN_OR_RETURN(auto service, service::Service::Create(config_.settings, options));
  // Never destroyed: a thread that does not stop may still use it.
  port_ = std::make_unique<Port>(service->outbox(), *this);
  if (!port_->Open(cycle)) {
    return Status(StatusCode::kUnavailable, "nginx has no connection for the engine's events");
  }
  if (Status started = service->Start(); !started.ok()) {
    port_->Close();
    return started;
  }
  service_ = std::move(service);
  return Status::Ok();
}

Status WorkerService::Stop(Deadline deadline) {
  if (service_ == nullptr) return Status::Ok();
  leaving_runs_.Stop();
  port_->Close();
  for (const bridge::ExchangePtr& exchange : exchanges_.Exchanges()) {
    exchange->Cancel(runtime::CancelReason::kShutdown);
  }
  Status stopped = service_->Stop(deadline);
  port_->DrainAll();
  return stopped;
}

bool WorkerService::HasRoomFor(uint64_t bytes) const {
  const uint64_t buffered = service_->outbox().memory().buffered();
  return buffered + bytes <= config_.settings->limits.buffered_bytes_max;
}

ngx_int_t WorkerService::Submit(RequestContext& context, std::optional<bridge::Body> body) {
  ngx_http_request_t* request = context.request;
  ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(request, 0);
  if (cleanup == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  cleanup->data = &context;
  cleanup->handler = OnRequestGone;

  bridge::CreditLimits credit;
  credit.high = context.location.credit_high;
  credit.low = context.location.credit_low;
  if (context.transport == api::Transport::kLiveSocket) {
    credit.high = std::min(credit.high, kLiveCreditHigh);
    credit.low = std::min(credit.low, kLiveCreditHigh / 2);
  }
  ExchangeSlot& slot = exchanges_.Acquire();
  slot.exchange = std::make_shared<bridge::Exchange>(slot.address, std::move(context.head),
                                                     service_->outbox(), credit);
  if (body) {
    slot.exchange->body().Deliver(*std::move(body));
  } else {
    context.late_body.Expect();
  }
  context.submitted = MonotonicMicros();
  if (!service_->inbox().Submit(slot.exchange)) {
    context.head.path = slot.exchange->head().path;  // of the request that is counted below
    exchanges_.Release(slot);
    return RefuseSubmission(context);
  }
  if (context.transport != api::Transport::kHttp) slot.turns = 1;
  slot.context = &context;
  context.address = slot.address;
  ngx_add_timer(&slot.timer, context.location.run_timeout);
  return WatchClient(request) ? NGX_DONE : NGX_ERROR;
}

// Answers a request for which the inbox has no place.
ngx_int_t WorkerService::RefuseSubmission(RequestContext& context) {
  std::optional<api::Reply> limited = CountRefusal(context);
  if (limited) return SendNativeReply(context, *std::move(limited), "rejected");
  api::ErrorInfo error;
  error.error = ngx_exiting ? api::ApiError::kShuttingDown : api::ApiError::kOverloaded;
  return SendNativeReply(context,
                         api::Refuse(error, context.transport != api::Transport::kHttp,
                                     context.request_id, context.render_error),
                         "rejected");
}

// Starts to watch for a disconnecting client; reading was blocked since the body was complete.
bool WorkerService::WatchClient(ngx_http_request_t* request) {
  ngx_event_t* read = request->connection->read;
  request->read_event_handler = OnClientReadable;
  request->write_event_handler = OnWritable;
  if (!read->ready) return ngx_handle_read_event(read, 0) == NGX_OK;
  // No new event comes for input that arrived before.
  ngx_post_event(read, &ngx_posted_events);
  return true;
}

void WorkerService::OnItem(bridge::OutboxItem& item) {
  if (auto* line = std::get_if<bridge::WriteLog>(&item.payload)) {
    LogItem(ngx_cycle->log, *line);
    return;
  }
  if (auto* run = std::get_if<bridge::RunOver>(&item.payload)) {
    CountRun(config_, run->outcome);
    return;
  }
  ExchangeSlot* slot = exchanges_.Find(item.address);
  if (slot == nullptr || slot->ended) return;  // late item of a request that has ended
  if (!LeaveIfTaken(*slot)) return;
  if (slot->context == nullptr) {
    TakeDetached(*slot, item.payload);
    return;
  }
  if (touched_.empty() || touched_.back().slot != item.address.slot) {
    touched_.push_back(item.address);
  }
  Take(*slot, item.payload);
}

void WorkerService::Take(ExchangeSlot& slot, bridge::OutboxPayload& payload) {
  RequestContext& context = *slot.context;
  context.TakeNote(*slot.exchange);
  if (context.first_item == 0) context.first_item = MonotonicMicros();
  if (IsSocket(context)) return context.websocket->Take(slot, payload);
  if (auto* head = std::get_if<bridge::SendHead>(&payload)) {
    if (head->head.status == NGX_HTTP_SWITCHING_PROTOCOLS) context.websocket->Accept();
    context.streamed = head->head.content_length < 0;
    context.writer.SetHead(std::move(head->head));
  } else if (auto* chunk = std::get_if<bridge::SendChunk>(&payload)) {
    if (context.first_chunk == 0) context.first_chunk = MonotonicMicros();
    context.writer.Append(std::move(chunk->bytes));
  } else if (auto* part = std::get_if<bridge::SendFile>(&payload)) {
    context.writer.AppendFile(std::move(*part));
  } else if (auto* admit = std::get_if<bridge::Admit>(&payload)) {
    Admit(slot, admit->user_id);
  } else if (auto* end = std::get_if<bridge::End>(&payload)) {
    // The engine reports a deadline only as "cancelled".
    context.outcome = slot.overdue && end->outcome == "cancelled" ? "timeout" : end->outcome;
    context.ended = MonotonicMicros();
    slot.ended = true;
  } else if (auto* read = std::get_if<bridge::ReadBody>(&payload)) {
    context.late_body.Grant(read->bytes);
  }
}

// Counts the request for its user. If it is refused, the refusal is the whole answer and the
// exchange is cancelled.
void WorkerService::Admit(ExchangeSlot& slot, const std::string& user_id) {
  RequestContext& context = *slot.context;
  limits::RateDecision decision = CountForUser(context.request, context.location, user_id);
  if (decision.admitted) {
    slot.exchange->DeliverAdmission();
    return;
  }
  context.refusal =
      api::Refuse(api::RateLimitedError(*config_.settings->rate_limit, decision),
                  IsHandshake(context.request), context.request_id, context.render_error);
  context.outcome = "rejected";
  slot.ended = true;
  slot.exchange->Cancel(runtime::CancelReason::kStopped);
}

// The client has disconnected but the run continues: its output is discarded and its credit
// returned.
void WorkerService::TakeDetached(ExchangeSlot& slot, bridge::OutboxPayload& payload) {
  if (auto* chunk = std::get_if<bridge::SendChunk>(&payload)) {
    slot.exchange->ReturnCredit(chunk->bytes.size());
  } else if (std::holds_alternative<bridge::TurnOver>(payload)) {
    if (--slot.turns == 0) exchanges_.Release(slot);
  } else if (std::holds_alternative<bridge::Admit>(payload)) {
    slot.exchange->Cancel(runtime::CancelReason::kClientGone);  // the run has not begun
  } else if (std::holds_alternative<bridge::End>(payload)) {
    exchanges_.Release(slot);
  }
}

void WorkerService::OnBatchEnd() {
  for (size_t i = 0; i < touched_.size(); ++i) {
    ExchangeSlot* slot = exchanges_.Find(touched_[i]);
    if (slot == nullptr || !LeaveIfTaken(*slot) || slot->context == nullptr) continue;
    ngx_http_request_t* request = slot->context->request;
    InRequest(request, [&] {
      const bool written = Guarded<bool>(request->connection->log, false, [&] {
        Write(*slot);
        return true;
      });
      if (written) return;
      // A part of its reply may be missing. The other requests get theirs.
      slot = exchanges_.Find(touched_[i]);
      if (slot != nullptr && slot->context != nullptr) Abandon(*slot->context, NGX_ERROR);
    });
  }
  touched_.clear();
}

void WorkerService::OnTimer(ngx_event_t* event) noexcept {
  Guarded(ngx_cycle->log, [&] {
    auto* slot = static_cast<ExchangeSlot*>(event->data);
    slot->worker->RunOverdue(*slot);
  });
}

void WorkerService::RunOverdue(ExchangeSlot& slot) {
  if (!LeaveIfTaken(slot)) return;
  if (slot.context != nullptr && IsSocket(*slot.context)) {
    return slot.context->websocket->OnSlotTimer(slot);
  }
  if (!slot.overdue) {
    slot.overdue = true;
    ngx_add_timer(&slot.timer, kOverdueGrace);
    slot.exchange->Cancel(runtime::CancelReason::kDeadline);
    return;
  }
  RequestContext* context = slot.context;
  if (context == nullptr) {
    exchanges_.Release(slot);
    return;
  }
  ngx_http_request_t* request = context->request;
  InRequest(request, [&] {
    ngx_log_error(NGX_LOG_ERR, request->connection->log, 0,
                  "agent_graph: the run did not end after its deadline");
    if (context->writer.has_head()) return Abandon(*context, NGX_ERROR);
    SendOwnReply(slot,
                 context->render_error({api::ApiError::kTimeout, "", {}}, context->request_id),
                 "timeout");
  });
}

void WorkerService::OnShutdown() {
  leaving_runs_.Begin(*service_, TimesOfLeaving(), ngx_cycle->log);
  if (exchanges_.in_flight() == 0) return;
  ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                "agent_graph: service \"%s\": %uz requests in flight go on", config_.name.c_str(),
                exchanges_.in_flight());
  LeaveWebSockets();
}

// An idle socket is closed after its own random delay, so that clients do not all reconnect at
// once. A socket with a run is closed when the run has ended.
void WorkerService::LeaveWebSockets() {
  const ngx_msec_t jitter = ShutdownJitter();
  exchanges_.ForEach([&](ExchangeSlot& slot) {
    if (slot.context == nullptr || !IsSocket(*slot.context)) return;
    slot.context->websocket->Leave(slot, static_cast<ngx_msec_t>(ngx_random()) % (jitter + 1));
  });
}

bool WorkerService::IsSocket(const RequestContext& context) {
  return context.websocket != nullptr && context.websocket->accepted();
}

bool WorkerService::OpenWebSocket(RequestContext& context) {
  context.websocket = WebSocketConnection::Open(*this, context);
  return context.websocket != nullptr;
}

ExchangeSlot* WorkerService::SlotOf(const RequestContext& context) {
  return context.address ? exchanges_.Find(*context.address) : nullptr;
}

void WorkerService::ReleaseExchange(RequestContext& context, ExchangeSlot& slot) {
  context.TakeNote(*slot.exchange);
  context.address.reset();
  exchanges_.Release(slot);
}

bool WorkerService::ResumeTurn(const bridge::ExchangePtr& exchange) {
  return service_->inbox().Resume(exchange);
}

bool WorkerService::TakeWebSocketPlace() {
  const settings::WebSocketSettings& settings = config_.settings->websocket;
  if (settings.connections_max > 0 && websockets_ >= settings.connections_max) return false;
  if (settings.total.max > 0 && !TakeSharedSocketPlace(config_, settings.total.max)) return false;
  ++websockets_;
  if (StatusRow* row = FindStatusRow(config_)) row->Set(StatusGauge::kSockets, websockets_);
  return true;
}

void WorkerService::ReleaseWebSocketPlace() {
  --websockets_;
  if (StatusRow* row = FindStatusRow(config_)) row->Set(StatusGauge::kSockets, websockets_);
}

void WorkerService::CountBuffered(int64_t bytes) {
  service_->outbox().memory().CountBuffered(bytes);
}

}  // namespace agent_graph::nginx
