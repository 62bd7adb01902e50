// One service in one worker: its engine, and the requests that wait for it.
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

class WorkerService final : public PortReceiver {
 public:
  explicit WorkerService(const ServiceConfig& config);

  // Builds and starts the engine. The failure is one line for the log; the service then answers
  // 503.
  Status Start(ngx_cycle_t* cycle, int threads, bool state_in_process);
  // In exit_process. kDeadlineExceeded: engine threads are still running.
  Status Stop(Deadline deadline);

  bool running() const { return service_ != nullptr; }
  // False when with `bytes` more this worker would buffer too much: answer 503.
  bool HasRoomFor(uint64_t bytes) const;
  const ServiceConfig& config() const { return config_; }

  // Hands a request and its body to the engine and takes over its life. Without a body the engine
  // asks for it once it knows the caller. The result is for ngx_http_finalize_request: NGX_DONE
  // when submitted, else that of the refusal.
  ngx_int_t Submit(RequestContext& context, std::optional<bridge::Body> body);

  size_t written_off_threads() const {
    return service_ == nullptr ? 0 : service_->written_off_threads();
  }

  // A place among the WebSockets that may be open, until the request is gone. False: all are taken.
  bool TakeSocketPlace(RequestContext& context);

  // The request ends, or is nginx's now, and has no more to do with its exchange.
  void RequestGone(RequestContext& context);

  // What its queues hold now, and what its engine has counted (worker_report.cc).
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
  // Bodies that are read late (worker_body.cc).
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

  // Requests that go before their exchange (worker_parting.cc).
  static void OnClientReadable(ngx_http_request_t* request) noexcept;
  static void OnRequestGone(void* data) noexcept;
  // Looks whether the slot's request is still its own. False: the slot is free now.
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
