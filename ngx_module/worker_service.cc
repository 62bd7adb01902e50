#include "worker_service.h"

#include <algorithm>

#include "api/http/rate_limit.h"
#include "base/process.h"
#include "callback.h"
#include "rate_limit.h"
#include "reply_deadline.h"

namespace agent_graph::nginx {
namespace {

// Time for a run to send its error and end after its deadline; then the request is ended without
// it.
constexpr ngx_msec_t kOverdueGrace = 5000;

constexpr uint64_t kLiveFrameBytesMax = 1024 * 1024;
constexpr uint64_t kLiveCreditHigh = 32 * 1024;  // two thirds of a second of audio

// Runs `body` with the connection's log context, then runs the posted requests of that connection.
template <typename Body>
void InRequest(ngx_http_request_t* request, Body&& body) {
  ngx_connection_t* connection = request->connection;
  ngx_http_set_log_request(connection->log, request);
  body();
  ngx_http_run_posted_requests(connection);  // the request may have been destroyed
}

SocketOptions SocketOptionsOf(const RequestContext& context) {
  const LocationConfig& location = context.location;
  SocketOptions options{};
  if (context.transport == api::Transport::kLiveSocket) {
    options.unsent_bytes_max = kLiveCreditHigh / 2;
    options.limits.frame_bytes_max = kLiveFrameBytesMax;
    options.limits.message_bytes_max = kLiveFrameBytesMax;
    options.limits.oversize = websocket::Oversize::kSkip;
  } else {
    options.limits.message_bytes_max = location.socket_max_message != NGX_CONF_UNSET_SIZE
                                           ? location.socket_max_message
                                           : BodyBytesMax(location);
    options.limits.frame_bytes_max = options.limits.message_bytes_max;
  }
  options.ping_interval = location.socket_ping;
  options.pong_timeout = location.socket_pong_timeout;
  options.close_timeout = location.socket_close_timeout;
  return options;
}

// Identifies this nginx: the same in all workers and over reloads, different after a restart.
std::string NameOfNginx() {
  const pid_t master = ngx_process == NGX_PROCESS_SINGLE ? getpid() : getppid();
  return std::to_string(master) + ":" + std::to_string(ProcessStartTime(master));
}

// Ends a reply that is shorter than announced: a client that knows the length would take the next
// response for the missing part. Closes the connection after the sent part (HTTP/1) or resets the
// stream (HTTP/2). `rc` is the writer's result; returns the code to finalize the request with.
ngx_int_t CutShort(ngx_http_request_t* request, ngx_int_t rc) {
  request->keepalive = 0;
  return request->http_version >= NGX_HTTP_VERSION_20 ? NGX_ERROR : rc;
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
  AG_ASSIGN_OR_RETURN(auto service, service::Service::Create(config_.settings, options));
  // Never destroyed: a thread that does not stop may still use it.
  port_ = std::make_unique<Port>(service->outbox(), *this);
  if (!port_->Open(cycle)) return Status(StatusCode::kUnavailable, "no connection for the engine");
  if (Status started = service->Start(); !started.ok()) {
    port_->Close();
    return started;
  }
  service_ = std::move(service);
  return Status::Ok();
}

Status WorkerService::Stop(Deadline deadline) {
  if (service_ == nullptr) return Status::Ok();
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
    // Audio that was passed to nginx cannot be taken back when the user interrupts.
    credit.high = std::min(credit.high, kLiveCreditHigh);
    credit.low = std::min(credit.low, kLiveCreditHigh / 2);
  }
  ExchangeSlot& slot = exchanges_.Acquire();
  slot.exchange = std::make_shared<bridge::Exchange>(slot.address, std::move(context.head),
                                                     service_->outbox(), credit);
  if (body) {
    slot.exchange->DeliverBody(*std::move(body));
  } else {
    context.late_body = RequestContext::LateBody::kUnread;
  }
  context.submitted = MonotonicMicros();
  bool websocket = context.transport != api::Transport::kHttp;
  if (!service_->inbox().Submit(slot.exchange)) {
    exchanges_.Release(slot);
    api::ErrorInfo error;
    error.error = ngx_exiting ? api::ApiError::kShuttingDown : api::ApiError::kOverloaded;
    return SendNativeReply(context,
                           websocket ? api::HandshakeRefusal(error, context.request_id)
                                     : api::ErrorReply(error, context.request_id),
                           "rejected");
  }
  if (websocket) slot.turns = 1;
  slot.context = &context;
  context.address = slot.address;
  ngx_add_timer(&slot.timer, context.location.run_timeout);
  return WatchClient(request) ? NGX_DONE : NGX_ERROR;
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
  if (context.first_item == 0) context.first_item = MonotonicMicros();
  if (context.socket != nullptr) return TakeForSocket(slot, payload);
  if (auto* head = std::get_if<bridge::SendHead>(&payload)) {
    if (head->head.status == NGX_HTTP_SWITCHING_PROTOCOLS) {
      context.socket = std::make_unique<Socket>(context.request, SocketOptionsOf(context));
    }
    context.writer.SetHead(std::move(head->head));
  } else if (auto* chunk = std::get_if<bridge::SendChunk>(&payload)) {
    if (context.first_chunk == 0) context.first_chunk = MonotonicMicros();
    context.writer.Append(std::move(chunk->bytes));
  } else if (auto* part = std::get_if<bridge::SendFile>(&payload)) {
    context.writer.AppendFile(std::move(*part));
  } else if (auto* note = std::get_if<bridge::Annotate>(&payload)) {
    if (!note->thread_id.empty()) context.thread_id = std::move(note->thread_id);
    if (!note->run_id.empty()) context.run_id = std::move(note->run_id);
  } else if (auto* admit = std::get_if<bridge::Admit>(&payload)) {
    Admit(slot, admit->user_id);
  } else if (auto* end = std::get_if<bridge::End>(&payload)) {
    // The engine reports a deadline only as "cancelled".
    context.outcome = slot.overdue && end->outcome == "cancelled" ? "timeout" : end->outcome;
    context.ended = MonotonicMicros();
    slot.ended = true;
  } else if (auto* read = std::get_if<bridge::ReadBody>(&payload)) {
    context.body_credit += read->bytes;
    // Needs no answer if the body was delivered with the head.
    if (context.late_body == RequestContext::LateBody::kUnread) {
      context.late_body = RequestContext::LateBody::kWanted;
    }
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
  context.refusal = api::RateLimitedReply(*config_.settings->rate_limit, decision,
                                          IsHandshake(context.request), context.request_id);
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
    InRequest(slot->context->request, [&] { Write(*slot); });
  }
  touched_.clear();
}

void WorkerService::Write(ExchangeSlot& slot) {
  RequestContext& context = *slot.context;
  if (context.socket != nullptr) return WriteSocket(slot);
  ngx_http_request_t* request = context.request;
  if (context.late_body == RequestContext::LateBody::kWanted) {
    if (!slot.ended && !context.writer.has_head()) return ReadLateBody(context);
    context.late_body = RequestContext::LateBody::kUnread;
  }
  if (context.body_stalled && context.body_credit > 0 && !slot.ended) {
    request->connection->read->timedout = 0;  // HTTP/2 data has started the timer meanwhile
    OnBodyStream(request);
    return;
  }
  if (slot.ended) {
    if (!context.writer.has_head()) {
      api::Reply reply = context.refusal
                             ? *std::move(context.refusal)
                             : api::ErrorReply(api::ApiError::kInternal, context.request_id);
      std::string outcome = std::move(context.outcome);
      context.address.reset();
      exchanges_.Release(slot);
      ngx_http_finalize_request(request, SendNativeReply(context, std::move(reply), outcome));
      return;
    }
    // A truncated reply must not look complete, whichever way nginx ends it.
    context.writer.lacks_bytes() ? context.writer.Seal() : context.writer.Finish();
  }
  if (!context.writer.has_head()) return;
  // A complete reply is held until its end arrives, because a client that has it all may disconnect
  // at once.
  if (!slot.ended && context.writer.complete()) return;
  if (context.late_body != RequestContext::LateBody::kNone) {
    // The answer was produced without the body or before its end.
    ngx_int_t dropped = DropBody(context);
    if (dropped != NGX_OK) {
      FinishRequest(slot, dropped);
      return;
    }
  }
  ngx_int_t rc = context.writer.Flush();
  if (uint64_t released = context.writer.TakeReleased(); released > 0) {
    slot.exchange->ReturnCredit(released);
  }
  if (slot.ended && context.writer.lacks_bytes() && !request->header_only) {
    rc = CutShort(request, rc);
  }
  if (slot.ended || rc == NGX_ERROR || rc > NGX_OK) {
    FinishRequest(slot, rc);
    return;
  }

  ngx_event_t* write = request->connection->write;
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(request, ngx_http_core_module));
  if (ngx_handle_write_event(write, core->send_lowat) != NGX_OK) {
    FinishRequest(slot, NGX_ERROR);
    return;
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

// The event loop is done with the exchange; nginx sends the rest and ends the request.
void WorkerService::FinishRequest(ExchangeSlot& slot, ngx_int_t rc) {
  RequestContext& context = *slot.context;
  if (!slot.ended) return Abandon(context, rc);
  context.address.reset();
  context.finished = slot.exchange;
  exchanges_.Release(slot);
  if (rc == NGX_AGAIN) SetReplyDeadline(context);
  ngx_http_finalize_request(context.request, rc);
}

void WorkerService::OnWritable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    if (context == nullptr || !context->address) return;
    WorkerService& worker = *context->worker;
    ExchangeSlot* slot = worker.exchanges_.Find(*context->address);
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

void WorkerService::OnTimer(ngx_event_t* event) noexcept {
  Guarded(ngx_cycle->log, [&] {
    auto* slot = static_cast<ExchangeSlot*>(event->data);
    slot->worker->RunOverdue(*slot);
  });
}

void WorkerService::RunOverdue(ExchangeSlot& slot) {
  if (!LeaveIfTaken(slot)) return;
  if (slot.context != nullptr && slot.context->socket != nullptr) return SocketOverdue(slot);
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
    context->address.reset();
    exchanges_.Release(slot);
    ngx_http_finalize_request(
        request,
        SendNativeReply(*context, api::ErrorReply(api::ApiError::kTimeout, context->request_id),
                        "timeout"));
  });
}

void WorkerService::OnShutdown() {
  if (exchanges_.in_flight() == 0) return;
  ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                "agent_graph: service \"%s\": %uz requests in flight go on", config_.name.c_str(),
                exchanges_.in_flight());
  CloseIdleSockets();
}

}  // namespace agent_graph::nginx
