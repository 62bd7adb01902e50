// One service in one worker: its engine and its requests in flight. Used by the event loop's thread
// only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "config.h"
#include "exchange_table.h"
#include "port.h"
#include "request_context.h"
#include "service/service.h"
#include "status_rows.h"

namespace agent_graph::nginx {

// Lives until the worker exits. Receives the items of its engine's outbox and owns the exchanges
// in flight. Only Start and Stop may block.
class WorkerService final : public PortReceiver {
 public:
  explicit WorkerService(const ServiceConfig& config);

  // Builds and starts the engine. On failure, the status text is one line for the log, and the
  // service answers 503.
  Status Start(ngx_cycle_t* cycle, int threads, bool state_in_process);
  // Called in exit_process. kDeadlineExceeded: engine threads are still running.
  Status Stop(Deadline deadline);

  bool running() const { return service_ != nullptr; }
  // False if `bytes` more would exceed the worker's limit of buffered bytes; the caller answers
  // 503.
  bool HasRoomFor(uint64_t bytes) const;
  const ServiceConfig& config() const { return config_; }

  // Submits a request to the engine and takes over its life cycle. Without `body`, the engine
  // requests the body after it has authenticated the caller. Pass the result to
  // ngx_http_finalize_request: NGX_DONE if submitted, otherwise the result of sending the refusal.
  ngx_int_t Submit(RequestContext& context, std::optional<bridge::Body> body);

  size_t written_off_threads() const {
    return service_ == nullptr ? 0 : service_->written_off_threads();
  }

  // Reserves one of the allowed WebSockets until the request ends. False: all are in use.
  bool TakeSocketPlace(RequestContext& context);

  // Called when the request ends or nginx takes it back; detaches it from its exchange.
  void RequestGone(RequestContext& context);

  // Writes the current lengths of its queues and the engine's counters to `row` (worker_report.cc).
  void Report(StatusRow& row) const;
  // Called now and then: returns memory to the system when a burst is over.
  void ReturnMemoryAfterBurst();

  void OnItem(bridge::OutboxItem& item) override;
  void OnBatchEnd() override;
  void OnShutdown() override;

 private:
  static void OnTimer(ngx_event_t* event) noexcept;
  static void OnWritable(ngx_http_request_t* request) noexcept;

  bool WatchClient(ngx_http_request_t* request);
  // Late bodies (worker_body.cc).
  static void OnLateBody(ngx_http_request_t* request) noexcept;
  static void OnBodyStream(ngx_http_request_t* request) noexcept;
  static void EndFailedBody(ngx_http_request_t* request, ngx_int_t rc) noexcept;
  void ReadLateBody(RequestContext& context);
  ngx_int_t PassBodyOn(RequestContext& context, ExchangeSlot& slot);
  void AbandonLateBody(RequestContext& context);
  ngx_int_t DeliverLateBody(RequestContext& context, ExchangeSlot& slot);
  void Admit(ExchangeSlot& slot, const std::string& user_id);
  void Take(ExchangeSlot& slot, bridge::OutboxPayload& payload);
  void TakeDetached(ExchangeSlot& slot, bridge::OutboxPayload& payload);
  void Write(ExchangeSlot& slot);
  void FinishRequest(ExchangeSlot& slot, ngx_int_t rc);
  void RunOverdue(ExchangeSlot& slot);

  // Requests that end before their exchange (worker_parting.cc).
  static void OnClientReadable(ngx_http_request_t* request) noexcept;
  static void OnRequestGone(void* data) noexcept;
  // Checks that the slot's request still belongs to it. False: it does not, and the slot was freed.
  bool LeaveIfTaken(ExchangeSlot& slot);
  // Ends a request whose exchange has not ended.
  void Abandon(RequestContext& context, ngx_int_t rc);
  void LeaveExchange(RequestContext& context, ExchangeSlot& slot, runtime::CancelReason reason);

  // WebSockets (worker_socket.cc).
  class MessageTaker;
  static void OnSocketReadable(ngx_http_request_t* request) noexcept;
  static void OnSocketWritable(ngx_http_request_t* request) noexcept;
  static void FreeSocketPlace(void* data) noexcept;
  void CountSocket(RequestContext& context, bool open);
  void CountSocketInput(RequestContext& context, size_t bytes);
  void TakeForSocket(ExchangeSlot& slot, bridge::OutboxPayload& payload);
  void WriteSocket(ExchangeSlot& slot);
  Socket::Life UpgradeToSocket(ExchangeSlot& slot);
  static bool MayLose(const ExchangeSlot& slot, bool binary);
  bool TakeMessage(ExchangeSlot& slot, bridge::SocketMessage message);
  void GiveInputUp(RequestContext& context);
  void Settle(RequestContext& context, Socket::Life life);
  static void WatchMessage(RequestContext& context);
  static void ForgetMessage(RequestContext& context);
  static void OnMessageOverdue(ngx_event_t* event) noexcept;
  void EndSocket(RequestContext& context, Socket::Life life);
  void SocketOverdue(ExchangeSlot& slot);
  void CloseIdleSockets();

  const ServiceConfig& config_;
  std::unique_ptr<service::Service> service_;
  std::unique_ptr<Port> port_;
  ExchangeTable exchanges_;
  int memory_returns_due_ = 0;
  ngx_msec_t memory_returned_ = 0;                // when that was done last
  size_t sockets_ = 0;                            // open or about to be
  uint64_t live_frames_lost_ = 0;                 // for want of room, before the engine saw them
  std::vector<bridge::ExchangeAddress> touched_;  // by the items of the current batch
};

}  // namespace agent_graph::nginx
