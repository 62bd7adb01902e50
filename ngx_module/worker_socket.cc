// WorkerService: WebSockets. Passes messages to the engine and frames to the client; handles
// deadlines and closing.
#include "callback.h"
#include "live/events.h"
#include "process.h"
#include "worker_service.h"

namespace agent_graph::nginx {
namespace {

// Size of the messages that wait for the engine; above it the socket is not read. One more message
// of any allowed size may be in flight.
constexpr size_t kMailboxBytesMax = 256 * 1024;

// Time for a run to send its error and end after its deadline; then the socket is closed.
constexpr ngx_msec_t kOverdueGrace = 5000;

constexpr std::string_view kReload = "server reload";

// Live clients get a fatal event before the Close frame, otherwise they would reconnect again and
// again.
void CloseForFault(RequestContext& context, uint16_t code, std::string_view fault,
                   std::string_view reason) {
  std::string last_words;
  if (context.transport == api::Transport::kLiveSocket) {
    websocket::AppendFrame(last_words, websocket::Opcode::kText,
                           live::ErrorEvent(fault, reason, /*fatal=*/true));
  }
  context.socket->Close(code, reason, std::move(last_words));
}

void CloseForWantOfRoom(RequestContext& context) {
  CloseForFault(context, websocket::close_code::kTryAgainLater, "server_busy",
                "the server is busy");
}

}  // namespace

// Passes the messages that a socket reads to its exchange.
class WorkerService::MessageTaker final : public SocketReceiver {
 public:
  explicit MessageTaker(RequestContext& context) : context_(context) {}

  bool OnMessage(bool binary, std::string payload) override {
    WorkerService& worker = *context_.worker;
    ForgetMessage(context_);
    if (!context_.address) return true;  // the exchange has ended
    ExchangeSlot* slot = worker.exchanges_.Find(*context_.address);
    return slot == nullptr || worker.TakeMessage(*slot, {binary, std::move(payload)});
  }

 private:
  RequestContext& context_;
};

bool WorkerService::TakeSocketPlace(RequestContext& context) {
  const settings::WebSocketSettings& settings = config_.settings->websocket;
  if (settings.connections_max > 0 && sockets_ >= settings.connections_max) return false;
  ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(context.request, 0);
  if (cleanup == nullptr) return false;
  if (settings.connections_total_max > 0 &&
      !TakeSharedSocketPlace(config_, settings.connections_total_max)) {
    return false;
  }
  cleanup->data = &context;
  cleanup->handler = FreeSocketPlace;
  CountSocket(context, true);
  return true;
}

void WorkerService::FreeSocketPlace(void* data) noexcept {
  auto* context = static_cast<RequestContext*>(data);
  Guarded(ngx_cycle->log, [&] { context->worker->CountSocket(*context, false); });
}

void WorkerService::CountSocket(RequestContext& context, bool open) {
  if (context.counted_socket == open) return;
  context.counted_socket = open;
  open ? ++sockets_ : --sockets_;
  if (StatusRow* row = FindStatusRow(config_)) row->Set(StatusGauge::kSockets, sockets_);
}

// Counts input that was read but not passed on as buffered, like the body of a request.
void WorkerService::CountSocketInput(RequestContext& context, size_t bytes) {
  if (bytes == context.socket_input_bytes) return;
  service_->outbox().memory().CountBuffered(static_cast<int64_t>(bytes) -
                                            static_cast<int64_t>(context.socket_input_bytes));
  context.socket_input_bytes = bytes;
}

// True if a live session may drop the message when the worker has no room: audio, as in the engine.
bool WorkerService::MayLose(const ExchangeSlot& slot, bool binary) {
  return binary && slot.turns > 0 && slot.context->transport == api::Transport::kLiveSocket;
}

// False: the mailbox is full.
bool WorkerService::TakeMessage(ExchangeSlot& slot, bridge::SocketMessage message) {
  CountSocketInput(*slot.context, 0);  // now part of this message
  if (!HasRoomFor(message.mailbox_bytes())) {
    if (MayLose(slot, message.binary)) {
      ++live_frames_lost_;
    } else {
      CloseForWantOfRoom(*slot.context);
    }
    return true;
  }
  slot.mailbox_bytes += message.mailbox_bytes();
  // A turn begun by this message did not exist when the exchanges were asked to leave, so it is
  // asked here.
  if (ngx_exiting) slot.exchange->RequestLeave();
  if (slot.exchange->DeliverMessage(std::move(message))) {
    ++slot.turns;
    slot.overdue = false;
    ngx_add_timer(&slot.timer, slot.context->location.run_timeout);
    if (!service_->inbox().Resume(slot.exchange)) {
      slot.context->socket->Close(websocket::close_code::kGoingAway, kReload);
    }
  }
  return slot.mailbox_bytes < kMailboxBytesMax;
}

void WorkerService::TakeForSocket(ExchangeSlot& slot, bridge::OutboxPayload& payload) {
  RequestContext& context = *slot.context;
  if (auto* chunk = std::get_if<bridge::SendChunk>(&payload)) {
    if (context.first_chunk == 0) context.first_chunk = MonotonicMicros();
    context.socket->Append(std::move(chunk->bytes));
    if (context.transport == api::Transport::kLiveSocket && slot.turns > 0 && !slot.overdue) {
      ngx_add_timer(&slot.timer, context.location.run_timeout);  // the model is producing output
    }
  } else if (auto* note = std::get_if<bridge::Annotate>(&payload)) {
    if (!note->thread_id.empty()) context.thread_id = std::move(note->thread_id);
    if (!note->run_id.empty()) context.run_id = std::move(note->run_id);
  } else if (auto* taken = std::get_if<bridge::ReadBody>(&payload)) {
    slot.mailbox_bytes -= taken->bytes;
    ++slot.messages_taken;
    slot.overdue = false;
    ngx_add_timer(&slot.timer, context.location.run_timeout);
  } else if (std::holds_alternative<bridge::MessageOver>(payload)) {
    if (slot.timer.timer_set) ngx_del_timer(&slot.timer);
  } else if (std::holds_alternative<bridge::TurnOver>(payload)) {
    if (--slot.turns > 0) return;
    if (slot.timer.timer_set) ngx_del_timer(&slot.timer);
    if (ngx_exiting) context.socket->Close(websocket::close_code::kGoingAway, kReload);
  } else if (auto* close = std::get_if<bridge::CloseSocket>(&payload)) {
    context.socket->Close(close->code, close->reason);
  } else if (auto* end = std::get_if<bridge::End>(&payload)) {
    context.outcome = std::move(end->outcome);
    context.ended = MonotonicMicros();
    slot.ended = true;
  }
}

void WorkerService::WriteSocket(ExchangeSlot& slot) {
  RequestContext& context = *slot.context;
  Socket& socket = *context.socket;
  // Effective only if the engine did not choose a close code.
  if (slot.ended) socket.Close(websocket::close_code::kInternal, "internal error");
  Socket::Life life;
  if (!context.writer.head_sent()) {
    life = UpgradeToSocket(slot);
  } else if (socket.paused() && slot.mailbox_bytes < kMailboxBytesMax) {
    MessageTaker taker(context);
    life = socket.Read(taker);
  } else {
    life = socket.Write();
  }
  if (slot.ended) {
    // The socket stays open for its closing handshake.
    context.address.reset();
    exchanges_.Release(slot);
  }
  Settle(context, life);
}

Socket::Life WorkerService::UpgradeToSocket(ExchangeSlot& slot) {
  RequestContext& context = *slot.context;
  ngx_int_t rc = context.writer.Flush();
  if (rc == NGX_ERROR || rc > NGX_OK) return Socket::Life::kLost;
  context.request->read_event_handler = OnSocketReadable;
  context.request->write_event_handler = OnSocketWritable;
  context.socket->Begin();
  MessageTaker taker(context);
  return context.socket->Read(taker);
}

void WorkerService::OnSocketReadable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    Socket& socket = *context->socket;
    if (request->connection->read->timedout) {
      context->worker->Settle(*context, socket.OnReadTimer());
    } else if (socket.paused()) {
      ngx_http_block_reading(request);  // otherwise select and poll would report it continuously
    } else {
      MessageTaker taker(*context);
      Socket::Life life = socket.Read(taker);
      context->worker->Settle(*context, life);
    }
  });
}

void WorkerService::OnSocketWritable(ngx_http_request_t* request) noexcept {
  Guarded(request->connection->log, [&] {
    RequestContext* context = FindContext(request);
    Socket::Life life = Socket::Life::kLost;
    if (request->connection->write->timedout) {
      ngx_log_error(NGX_LOG_INFO, request->connection->log, NGX_ETIMEDOUT, "client timed out");
      request->connection->timedout = 1;
    } else {
      life = context->socket->Write();
    }
    context->worker->Settle(*context, life);
  });
}

// Called after every call of a socket: returns credit, updates counts, and ends a closed or lost
// socket.
void WorkerService::Settle(RequestContext& context, Socket::Life life) {
  if (context.address) {
    ExchangeSlot* slot = exchanges_.Find(*context.address);
    uint64_t released = context.socket->TakeReleased();
    if (slot != nullptr && released > 0) slot->exchange->ReturnCredit(released);
  }
  size_t input = context.socket->input_bytes();
  bool grows = input > context.socket_input_bytes;
  CountSocketInput(context, input);
  if (life == Socket::Life::kOpen && grows && !HasRoomFor(0) && context.socket->endpoint().open()) {
    GiveInputUp(context);
    CountSocketInput(context, context.socket->input_bytes());
    life = context.socket->Write();
  }
  if (life != Socket::Life::kOpen) return EndSocket(context, life);
  WatchMessage(context);
}

// Drops or rejects the rest of a message for which the worker has no room.
void WorkerService::GiveInputUp(RequestContext& context) {
  const ExchangeSlot* slot = context.address ? exchanges_.Find(*context.address) : nullptr;
  if (slot != nullptr && MayLose(*slot, context.socket->endpoint().in_binary_message())) {
    context.socket->SkipMessage();
    ++live_frames_lost_;
  } else {
    CloseForWantOfRoom(context);
  }
}

// Starts the deadline of a message that has begun: a message that arrives byte by byte would
// otherwise occupy its buffer forever.
void WorkerService::WatchMessage(RequestContext& context) {
  const Socket& socket = *context.socket;
  const bool waits = socket.endpoint().open() && socket.endpoint().in_message() && !socket.paused();
  if (!waits) return ForgetMessage(context);
  ngx_event_t& deadline = context.message_deadline;
  if (deadline.timer_set) return;
  deadline.handler = OnMessageOverdue;
  deadline.data = &context;
  deadline.log = ngx_cycle->log;
  deadline.cancelable = 1;
  ngx_add_timer(&deadline, context.location.run_timeout);
}

void WorkerService::ForgetMessage(RequestContext& context) {
  if (context.message_deadline.timer_set) ngx_del_timer(&context.message_deadline);
}

void WorkerService::OnMessageOverdue(ngx_event_t* event) noexcept {
  Guarded(ngx_cycle->log, [&] {
    auto* context = static_cast<RequestContext*>(event->data);
    ngx_connection_t* connection = context->request->connection;
    ngx_http_set_log_request(connection->log, context->request);
    CloseForFault(*context, websocket::close_code::kPolicy, "message_timeout",
                  "the message took too long");
    context->worker->Settle(*context, context->socket->Write());
    ngx_http_run_posted_requests(connection);  // the request may have been destroyed
  });
}

void WorkerService::EndSocket(RequestContext& context, Socket::Life life) {
  ngx_http_request_t* request = context.request;
  const websocket::Endpoint& endpoint = context.socket->endpoint();
  context.socket_close_code = endpoint.close_code();
  if (!endpoint.fault().empty()) {
    ngx_str_t fault = Reference(endpoint.fault());
    ngx_log_error(NGX_LOG_INFO, request->connection->log, 0,
                  "agent_graph: websocket client broke a rule: %V", &fault);
  }
  ForgetMessage(context);
  CountSocket(context, false);
  if (context.address) {
    ExchangeSlot* slot = exchanges_.Find(*context.address);
    context.ended = MonotonicMicros();
    bool live = context.transport == api::Transport::kLiveSocket;
    bool orderly = life == Socket::Life::kClosed && slot != nullptr && (live || slot->turns == 0);
    context.outcome = orderly ? "ok" : request->connection->timedout ? "timeout" : "client_abort";
    if (slot != nullptr) LeaveExchange(context, *slot, runtime::CancelReason::kClientGone);
  }
  if (life == Socket::Life::kClosed) {
    request->lingering_close = 1;  // the peer can read the Close before the connection ends
    ngx_http_finalize_request(request, NGX_OK);
  } else {
    ngx_http_finalize_request(request, NGX_ERROR);
  }
}

// The slot's timer for a socket: the deadline of a message, or, during a reload, the time to close
// the socket.
void WorkerService::SocketOverdue(ExchangeSlot& slot) {
  RequestContext& context = *slot.context;
  ngx_connection_t* connection = context.request->connection;
  if (slot.turns > 0 && !slot.overdue) {
    slot.overdue = true;
    ngx_add_timer(&slot.timer, kOverdueGrace);
    slot.exchange->CancelMessage(slot.messages_taken, runtime::CancelReason::kDeadline);
    return;
  }
  ngx_http_set_log_request(connection->log, context.request);
  if (slot.turns > 0) {
    ngx_log_error(NGX_LOG_ERR, connection->log, 0,
                  "agent_graph: the run did not end after its deadline");
    CloseForFault(context, websocket::close_code::kInternal, "internal", "the run did not end");
    context.outcome = "timeout";
    context.address.reset();
    bridge::ExchangePtr exchange = slot.exchange;
    exchanges_.Release(slot);
    exchange->Cancel(runtime::CancelReason::kDeadline);
  } else {
    context.socket->Close(websocket::close_code::kGoingAway, kReload);
  }
  Settle(context, context.socket->Write());
  ngx_http_run_posted_requests(connection);
}

// Called when the worker shuts down: closes each idle socket after its own random delay, so that
// clients do not all reconnect at once. A socket with a run is closed when the run has ended.
void WorkerService::CloseIdleSockets() {
  ngx_msec_t jitter = ShutdownJitter();
  exchanges_.ForEach([&](ExchangeSlot& slot) {
    if (slot.context == nullptr || slot.context->socket == nullptr) return;
    if (slot.turns > 0) {
      slot.exchange->RequestLeave();
      return;
    }
    ngx_add_timer(&slot.timer, static_cast<ngx_msec_t>(ngx_random()) % (jitter + 1));
  });
}

}  // namespace agent_graph::nginx
