// One WebSocket between its client and its exchange: from the handshake to the end of the request.
// Passes messages to the engine and frames to the client; applies deadlines; closes.
// The exchange may end before the socket: the socket then stays open for its closing handshake.
#pragma once

#include <optional>
#include <string_view>

#include "bridge/outbox.h"
#include "ngx_module/request/exchange_table.h"
#include "ngx_module/request/request_context.h"
#include "ngx_module/websocket/socket.h"
#include "ngx_module/worker/websocket_phase.h"

namespace agent_graph::nginx {

class WorkerService;

// Owned by the context of its request. Used by the event loop's thread only. A method that may end
// the request says so: the caller must not touch context or connection afterwards.
class WebSocketConnection final : private SocketReceiver {
 public:
  // Reserves one of the allowed WebSockets until the request ends. Null: all are in use.
  static std::shared_ptr<WebSocketConnection> Open(WorkerService& worker, RequestContext& context);
  ~WebSocketConnection();
  WebSocketConnection(const WebSocketConnection&) = delete;
  WebSocketConnection& operator=(const WebSocketConnection&) = delete;

  // The engine has accepted the handshake; the 101 response is still to be sent.
  void Accept();
  // False: the handshake was not accepted (yet), and a reply is that of an HTTP request.
  bool accepted() const { return phase_.value() != WebSocketPhase::Phase::kHandshake; }

  // Handles an item of the engine; Write follows at the end of the batch.
  void Take(ExchangeSlot& slot, bridge::OutboxPayload& payload);
  // Sends what is queued, and reads on if the mailbox has room. May end the request.
  void Write(ExchangeSlot& slot);
  // The slot's timer: the deadline of a message, or, during a reload, the time to close the socket.
  // May end the request.
  void OnSlotTimer(ExchangeSlot& slot);
  // Reads on in the middle of a message (see StalledSockets). May end the request.
  void ReadOn();
  // The message got no memory for too long. May end the request.
  void GiveUp();
  // The worker exits: a session is asked to leave, an idle socket is closed after `delay`.
  void Leave(ExchangeSlot& slot, ngx_msec_t delay);

  // True if no turn of the engine is running or about to run.
  static bool IsIdle(const ExchangeSlot& slot) { return slot.turns == 0; }
  // Drops frames that were not sent, and returns their size in bytes.
  uint64_t DiscardUnsent() { return socket_ ? socket_->DiscardUnsent() : 0; }
  // nginx ends the request: stops the deadline, and nothing counts as buffered any more.
  void OnRequestGone();

 private:
  WebSocketConnection(WorkerService& worker, RequestContext& context);

  static WebSocketConnection& Of(ngx_http_request_t* request);
  static void OnReadable(ngx_http_request_t* request) noexcept;
  static void OnWritable(ngx_http_request_t* request) noexcept;
  static void OnMessageDeadline(ngx_event_t* event) noexcept;
  static void OnCloseDeadline(ngx_event_t* event) noexcept;
  static void OnCleanup(void* context) noexcept;

  bool OnMessage(bool binary, std::string payload) override;
  bool MayReadOn(size_t message_bytes) override;
  bool Deliver(ExchangeSlot& slot, bridge::SocketMessage message);

  bool is_live() const { return context_.transport == api::Transport::kLiveSocket; }
  bool is_stalled() const;
  bool MayDrop(const ExchangeSlot& slot, bool binary) const;
  Socket::Life Upgrade();
  void ReleaseExchange(ExchangeSlot& slot);
  void Settle(Socket::Life life);
  void RejectInput();
  void End(Socket::Life life);
  void CloseForFault(uint16_t code, std::string_view fault, std::string_view reason);
  void CloseForLackOfRoom();
  void StartDeadlines();
  void StopMessageDeadline();
  void StopDeadlines();
  void CountInput(size_t bytes);
  void ReleasePlace();

  WorkerService& worker_;
  RequestContext& context_;
  WebSocketPhase phase_;
  std::optional<Socket> socket_;    // from kAccepted on
  bool has_place_ = false;          // counted in the worker's number of open sockets
  size_t input_bytes_ = 0;          // input of the socket that is counted as buffered
  ngx_event_t message_deadline_{};  // for the client to complete a message that has begun
  ngx_event_t close_deadline_{};    // for the client to read the rest while the socket closes
};

}  // namespace agent_graph::nginx
