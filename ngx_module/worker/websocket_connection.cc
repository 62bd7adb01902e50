#include "ngx_module/worker/websocket_connection.h"

#include "live/events.h"
#include "ngx_module/callback.h"
#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {
namespace {

// Size of the messages that wait for the engine; above it the socket is not read. One more message
// of any allowed size may be in flight.
constexpr size_t kMailboxBytesMax = 256 * 1024;

constexpr uint64_t kLiveFrameBytesMax = 1024 * 1024;

// Smaller messages are read however much memory is taken.
constexpr size_t kLargeMessageBytesMin = 128 * 1024;

constexpr std::string_view kReload = "server reload";

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

}  // namespace

std::shared_ptr<WebSocketConnection> WebSocketConnection::Open(WorkerService& worker,
                                                               RequestContext& context) {
  std::shared_ptr<WebSocketConnection> connection(new WebSocketConnection(worker, context));
  ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(context.request, 0);
  if (cleanup == nullptr || !worker.TakeWebSocketPlace()) return nullptr;
  cleanup->data = &context;
  cleanup->handler = OnCleanup;
  connection->has_place_ = true;
  return connection;
}

WebSocketConnection::WebSocketConnection(WorkerService& worker, RequestContext& context)
    : worker_(worker), context_(context) {}

WebSocketConnection::~WebSocketConnection() {
  StopDeadlines();
}

void WebSocketConnection::OnCleanup(void* context) noexcept {
  Guarded(ngx_cycle->log, [&] {
    if (const auto& connection = static_cast<RequestContext*>(context)->websocket) {
      connection->ReleasePlace();
    }
  });
}

void WebSocketConnection::ReleasePlace() {
  if (!std::exchange(has_place_, false)) return;
  worker_.ReleaseWebSocketPlace();
}

void WebSocketConnection::Accept() {
  phase_.Accept();
  socket_.emplace(context_.request, SocketOptionsOf(context_));
}

// Live clients get a fatal event before the Close frame, otherwise they would reconnect again and
// again.
void WebSocketConnection::CloseForFault(uint16_t code, std::string_view fault,
                                        std::string_view reason) {
  std::string last_words;
  if (is_live()) {
    websocket::AppendFrame(last_words, websocket::Opcode::kText,
                           live::ErrorEvent(fault, reason, /*fatal=*/true));
  }
  socket_->Close(code, reason, std::move(last_words));
}

void WebSocketConnection::CloseForLackOfRoom() {
  CloseForFault(websocket::close_code::kTryAgainLater, "server_busy", "the server is busy");
}

// --- Messages of the client ---------------------------------------------------------------------

// Counts input that was read but not passed on as buffered, like the body of a request.
void WebSocketConnection::CountInput(size_t bytes) {
  if (bytes == input_bytes_) return;
  worker_.CountBuffered(static_cast<int64_t>(bytes) - static_cast<int64_t>(input_bytes_));
  input_bytes_ = bytes;
}

// True if a live session may drop the message when the worker has no room: audio, as in the engine.
bool WebSocketConnection::MayDrop(const ExchangeSlot& slot, bool binary) const {
  return binary && !IsIdle(slot) && is_live();
}

bool WebSocketConnection::OnMessage(bool binary, std::string payload) {
  StopMessageDeadline();
  ExchangeSlot* slot = worker_.SlotOf(context_);
  return slot == nullptr || Deliver(*slot, {binary, std::move(payload)});
}

// A live session drops audio for which there is no room, but does not let it wait.
bool WebSocketConnection::MayReadOn(size_t message_bytes) {
  return is_live() || message_bytes < kLargeMessageBytesMin ||
         worker_.stalled_sockets().MayReadOn(*this);
}

// A socket that is being closed is read to its end.
bool WebSocketConnection::is_stalled() const {
  return socket_->endpoint().open() && worker_.stalled_sockets().Contains(*this);
}

void WebSocketConnection::ReadOn() {
  ngx_connection_t* connection = context_.request->connection;
  ngx_http_set_log_request(connection->log, context_.request);
  Settle(socket_->Read(*this));
  ngx_http_run_posted_requests(connection);  // the request may have been destroyed
}

void WebSocketConnection::GiveUp() {
  ngx_connection_t* connection = context_.request->connection;
  ngx_http_set_log_request(connection->log, context_.request);
  CloseForLackOfRoom();
  Settle(socket_->Read(*this));  // also the client's Close
  ngx_http_run_posted_requests(connection);
}

// False: the mailbox is full.
bool WebSocketConnection::Deliver(ExchangeSlot& slot, bridge::SocketMessage message) {
  CountInput(0);  // now part of this message
  if (!worker_.HasRoomFor(message.mailbox_bytes())) {
    MayDrop(slot, message.binary) ? worker_.CountLostLiveFrame() : CloseForLackOfRoom();
    return true;
  }
  slot.mailbox_bytes += message.mailbox_bytes();
  // A turn begun by this message did not exist when the exchanges were asked to leave, so it is
  // asked here.
  if (ngx_exiting) slot.exchange->socket().RequestLeave();
  if (slot.exchange->socket().Deliver(std::move(message))) {
    ++slot.turns;
    slot.overdue = false;
    ngx_add_timer(&slot.timer, context_.location.run_timeout);
    if (!worker_.ResumeTurn(slot.exchange)) {
      socket_->Close(websocket::close_code::kGoingAway, kReload);
    }
  }
  return slot.mailbox_bytes < kMailboxBytesMax;
}

void WebSocketConnection::OnReadable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    WebSocketConnection& connection = Of(request);
    Socket& socket = *connection.socket_;
    if (request->connection->read->timedout) {
      connection.Settle(socket.OnReadTimer());
    } else if (socket.paused()) {
      ngx_http_block_reading(request);  // otherwise select and poll would report it continuously
    } else {
      connection.Settle(socket.Read(connection));
    }
  });
}

void WebSocketConnection::OnWritable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    WebSocketConnection& connection = Of(request);
    Socket::Life life = Socket::Life::kLost;
    if (request->connection->write->timedout) {
      ngx_log_error(NGX_LOG_INFO, request->connection->log, NGX_ETIMEDOUT, "client timed out");
      request->connection->timedout = 1;
    } else {
      life = connection.socket_->Write();
    }
    connection.Settle(life);
  });
}

WebSocketConnection& WebSocketConnection::Of(ngx_http_request_t* request) {
  return *FindContext(request)->websocket;
}

// Drops or rejects the rest of a message for which the worker has no room.
void WebSocketConnection::RejectInput() {
  const ExchangeSlot* slot = worker_.SlotOf(context_);
  if (slot != nullptr && MayDrop(*slot, socket_->endpoint().in_binary_message())) {
    socket_->SkipMessage();
    worker_.CountLostLiveFrame();
  } else {
    CloseForLackOfRoom();
  }
}

// --- Items of the engine ------------------------------------------------------------------------

void WebSocketConnection::Take(ExchangeSlot& slot, bridge::OutboxPayload& payload) {
  if (auto* chunk = std::get_if<bridge::SendChunk>(&payload)) {
    if (context_.first_chunk == 0) context_.first_chunk = MonotonicMicros();
    socket_->Append(std::move(chunk->bytes));
    if (is_live() && !IsIdle(slot) && !slot.overdue) {
      ngx_add_timer(&slot.timer, context_.location.run_timeout);  // the model is producing output
    }
  } else if (auto* taken = std::get_if<bridge::ReadBody>(&payload)) {
    slot.mailbox_bytes -= taken->bytes;
    ++slot.messages_taken;
    slot.overdue = false;
    ngx_add_timer(&slot.timer, context_.location.run_timeout);
  } else if (std::holds_alternative<bridge::MessageOver>(payload)) {
    if (slot.timer.timer_set) ngx_del_timer(&slot.timer);
  } else if (std::holds_alternative<bridge::TurnOver>(payload)) {
    if (--slot.turns > 0) return;
    if (slot.timer.timer_set) ngx_del_timer(&slot.timer);
    if (ngx_exiting) socket_->Close(websocket::close_code::kGoingAway, kReload);
  } else if (auto* close = std::get_if<bridge::CloseSocket>(&payload)) {
    socket_->Close(close->code, close->reason);
  } else if (auto* end = std::get_if<bridge::End>(&payload)) {
    context_.outcome = std::move(end->outcome);
    context_.ended = MonotonicMicros();
    slot.ended = true;
  }
}

void WebSocketConnection::Write(ExchangeSlot& slot) {
  // Effective only if the engine did not choose a close code.
  if (slot.ended) socket_->Close(websocket::close_code::kInternal, "internal error");
  Socket::Life life;
  if (phase_.value() == WebSocketPhase::Phase::kAccepted) {
    life = Upgrade();
  } else if (socket_->paused() && !is_stalled() && slot.mailbox_bytes < kMailboxBytesMax) {
    life = socket_->Read(*this);
  } else {
    life = socket_->Write();
  }
  if (slot.ended) ReleaseExchange(slot);
  Settle(life);
}

Socket::Life WebSocketConnection::Upgrade() {
  ngx_int_t rc = context_.writer.Flush();
  if (rc == NGX_ERROR || rc > NGX_OK) return Socket::Life::kLost;
  phase_.Open();
  context_.request->read_event_handler = OnReadable;
  context_.request->write_event_handler = OnWritable;
  socket_->Begin();
  return socket_->Read(*this);
}

// The frames that were not sent still count as buffered.
void WebSocketConnection::ReleaseExchange(ExchangeSlot& slot) {
  context_.finished = slot.exchange;
  worker_.ReleaseExchange(context_, slot);
}

// --- State of the connection --------------------------------------------------------------------

// Called after every call of the socket: returns credit, updates counts, and ends a closed or lost
// socket.
void WebSocketConnection::Settle(Socket::Life life) {
  const uint64_t released = socket_->TakeReleased();
  const ExchangeSlot* slot = worker_.SlotOf(context_);
  const bridge::ExchangePtr& exchange = slot != nullptr ? slot->exchange : context_.finished;
  if (exchange != nullptr && released > 0) exchange->ReturnCredit(released);
  size_t input = socket_->input_bytes();
  bool grows = input > input_bytes_;
  CountInput(input);
  if (life == Socket::Life::kOpen && grows && !worker_.HasRoomFor(0) &&
      socket_->endpoint().open()) {
    RejectInput();
    CountInput(socket_->input_bytes());
    life = socket_->Write();
  }
  if (life != Socket::Life::kOpen) return End(life);
  StartDeadlines();
}

void WebSocketConnection::End(Socket::Life life) {
  phase_.End();
  ngx_http_request_t* request = context_.request;
  const websocket::Endpoint& endpoint = socket_->endpoint();
  context_.socket_close_code = endpoint.close_code();
  if (!endpoint.fault().empty()) {
    ngx_str_t fault = Reference(endpoint.fault());
    ngx_log_error(NGX_LOG_INFO, request->connection->log, 0,
                  "agent_graph: websocket client violated the protocol: %V", &fault);
  }
  worker_.stalled_sockets().Remove(*this);
  StopDeadlines();
  ReleasePlace();
  if (context_.address) {
    ExchangeSlot* slot = worker_.SlotOf(context_);
    context_.ended = MonotonicMicros();
    bool orderly = life == Socket::Life::kClosed && slot != nullptr && (is_live() || IsIdle(*slot));
    context_.outcome = orderly ? "ok" : request->connection->timedout ? "timeout" : "client_abort";
    if (slot != nullptr) {
      worker_.LeaveExchange(context_, *slot, runtime::CancelReason::kClientGone);
    }
  }
  if (life == Socket::Life::kClosed) {
    context_.finished.reset();
    request->lingering_close = 1;  // the peer can read the Close before the connection ends
    ngx_http_finalize_request(request, NGX_OK);
  } else {
    ngx_http_finalize_request(request, NGX_ERROR);
  }
}

void WebSocketConnection::OnSlotTimer(ExchangeSlot& slot) {
  ngx_connection_t* connection = context_.request->connection;
  if (!IsIdle(slot) && !slot.overdue) {
    slot.overdue = true;
    ngx_add_timer(&slot.timer, kOverdueGrace);
    slot.exchange->socket().CancelMessage(slot.messages_taken, runtime::CancelReason::kDeadline);
    return;
  }
  ngx_http_set_log_request(connection->log, context_.request);
  if (!IsIdle(slot)) {
    ngx_log_error(NGX_LOG_ERR, connection->log, 0,
                  "agent_graph: the run did not end after its deadline");
    CloseForFault(websocket::close_code::kInternal, "internal", "the run did not end");
    context_.outcome = "timeout";
    ReleaseExchange(slot);
    context_.finished->Cancel(runtime::CancelReason::kDeadline);
  } else {
    socket_->Close(websocket::close_code::kGoingAway, kReload);
  }
  Settle(socket_->Write());
  ngx_http_run_posted_requests(connection);
}

void WebSocketConnection::Leave(ExchangeSlot& slot, ngx_msec_t delay) {
  IsIdle(slot) ? ngx_add_timer(&slot.timer, delay) : slot.exchange->socket().RequestLeave();
}

void WebSocketConnection::OnRequestGone() {
  worker_.stalled_sockets().Remove(*this);
  StopDeadlines();
  CountInput(0);
}

}  // namespace agent_graph::nginx
