// One service in one worker: its engine and its requests in flight. Used by the event loop's thread
// only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ngx_module/config.h"
#include "ngx_module/request/exchange_table.h"
#include "ngx_module/request/request_context.h"
#include "ngx_module/status/duration_zone.h"
#include "ngx_module/status/status_rows.h"
#include "ngx_module/worker/leaving_runs.h"
#include "ngx_module/worker/port.h"
#include "ngx_module/worker/stalled_sockets.h"
#include "service/service.h"

namespace agent_graph::nginx {

// Unsent audio of a live session: two thirds of a second, because audio that was passed to nginx
// cannot be taken back when the user interrupts.
inline constexpr uint64_t kLiveCreditHigh = 32 * 1024;

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
  // Call it only while running.
  std::vector<api::ReadyPart> FailingParts() const { return service_->readiness().Failing(); }
  // False if `bytes` more would exceed the worker's limit of buffered bytes; the caller answers
  // 503.
  bool HasRoomFor(uint64_t bytes) const;
  const ServiceConfig& config() const { return config_; }

  // Submits a request to the engine and takes over its life cycle. Without `body`, the engine
  // requests the body after it has authenticated the caller. Pass the result to
  // ngx_http_finalize_request: NGX_DONE if submitted, otherwise the result of sending the refusal.
  ngx_int_t Submit(RequestContext& context, std::optional<bridge::Body> body);

  size_t lost_threads() const { return service_ == nullptr ? 0 : service_->lost_threads(); }
  // True if it has a request, a WebSocket or an accepted run.
  bool is_busy() const {
    return service_ != nullptr && (exchanges_.in_flight() > 0 || service_->accepted_runs() > 0);
  }

  // Begins a handshake: reserves one of the allowed WebSockets until the request ends. False: all
  // are in use.
  bool OpenWebSocket(RequestContext& context);

  // Called when the request ends or nginx takes it back; detaches it from its exchange.
  void RequestGone(RequestContext& context);

  // Writes the current lengths of its queues and the engine's counters to `row` (worker_report.cc).
  void Report(StatusRow& row);
  // Called periodically: returns memory to the system when a burst is over.
  void ReturnMemoryAfterBurst();

  // --- For the parts of a request in flight (body_source.h, websocket_connection.h) ---

  // The slot of the request's exchange; null if it has none any more.
  ExchangeSlot* SlotOf(const RequestContext& context);
  // Watches for a client that disconnects, while nothing is read from it. False: failed.
  static bool WatchClient(ngx_http_request_t* request);
  // Ends a request whose exchange has not ended.
  void Abandon(RequestContext& context, ngx_int_t rc);
  // Detaches the request from its exchange, which continues without it or is cancelled.
  void LeaveExchange(RequestContext& context, ExchangeSlot& slot, runtime::CancelReason reason);
  // Detaches the request from its exchange, which has ended or ends without it.
  void ReleaseExchange(RequestContext& context, ExchangeSlot& slot);
  // Starts the next turn of a WebSocket. False: the engine takes none any more.
  bool ResumeTurn(const bridge::ExchangePtr& exchange);
  bool TakeWebSocketPlace();
  void ReleaseWebSocketPlace();
  void CountBuffered(int64_t bytes);
  const bridge::WorkerMemory& memory() const { return service_->outbox().memory(); }
  StalledSockets& stalled_sockets() { return stalled_sockets_; }
  void CountLostLiveFrame() { ++live_frames_lost_; }

  // --- PortReceiver ---
  void OnItem(bridge::OutboxItem& item) override;
  void OnBatchEnd() override;
  void OnShutdown() override;

 private:
  static void OnTimer(ngx_event_t* event) noexcept;

  static ngx_int_t RefuseSubmission(RequestContext& context);
  void Admit(ExchangeSlot& slot, const std::string& user_id);
  void Take(ExchangeSlot& slot, bridge::OutboxPayload& payload);
  void TakeDetached(ExchangeSlot& slot, bridge::OutboxPayload& payload);
  void RunOverdue(ExchangeSlot& slot);
  static bool IsSocket(const RequestContext& context);

  // Replies (replies.cc).
  static void OnWritable(ngx_http_request_t* request) noexcept;
  void Write(ExchangeSlot& slot);
  // Flushes the reply and waits for the connection to become writable for the rest.
  void WriteReply(ExchangeSlot& slot);
  void WaitToWrite(ExchangeSlot& slot, ngx_int_t rc);
  void SendOwnReply(ExchangeSlot& slot, api::Reply reply, const std::string& outcome);
  void FinishRequest(ExchangeSlot& slot, ngx_int_t rc);

  // Requests that end before their exchange (leaving_requests.cc).
  static void OnClientReadable(ngx_http_request_t* request) noexcept;
  static void OnRequestGone(void* data) noexcept;
  // Checks that the slot's request still belongs to it. False: it does not, and the slot was freed.
  bool LeaveIfTaken(ExchangeSlot& slot);
  // Asks all WebSockets to end, because the worker exits.
  void LeaveWebSockets();

  const ServiceConfig& config_;
  std::unique_ptr<service::Service> service_;
  std::unique_ptr<Port> port_;
  ExchangeTable exchanges_;
  StalledSockets stalled_sockets_{*this};
  DurationReporter model_calls_{config_, DurationKind::kModelCall};
  DurationReporter tool_calls_{config_, DurationKind::kToolCall};
  DurationReporter state_operations_{config_, DurationKind::kStateOperation};
  LeavingRuns leaving_runs_;
  uint64_t memory_peak_ = 0;  // since the end of the last burst
  int memory_returns_due_ = 0;
  ngx_msec_t memory_returned_ = 0;                // when that was done last
  size_t websockets_ = 0;                         // open or about to be
  uint64_t live_frames_lost_ = 0;                 // dropped here for lack of room
  std::vector<bridge::ExchangeAddress> touched_;  // by the items of the current batch
};

}  // namespace agent_graph::nginx
