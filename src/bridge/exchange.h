// One HTTP request (later also one WebSocket connection) between the two kinds of thread.
//
// A heap object with shared ownership, never pool memory: the loop's slot table holds one
// reference until the request's cleanup, the engine's fiber holds one until its End. The loop's
// methods never block and never fail; the engine's methods suspend the calling fiber.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bridge/outbox.h"
#include "bridge/request.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::bridge {

struct CreditLimits {
  uint64_t high = 256 * 1024;  // bytes an exchange may have queued towards the client
  uint64_t low = 64 * 1024;    // a stalled producer goes on below this
};

class Exchange {
 public:
  Exchange(ExchangeAddress address, RequestHead head, Outbox& outbox, CreditLimits credit);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RequestHead& head() const { return head_; }
  ExchangeAddress address() const { return address_; }

  // --- Loop side ---------------------------------------------------------------------------
  // The whole body, before Submit or after a ReadBody item.
  void DeliverBody(Body body);
  // The body cannot be had any more (client gone, too large): TakeBody fails with `status`.
  void FailBody(Status status);
  // `bytes` have left nginx.
  void ReturnCredit(uint64_t bytes);
  // The request is gone or must end. Cancels the run.
  void Cancel(runtime::CancelReason reason);

  // --- Engine side (one fiber at a time) ----------------------------------------------------
  const runtime::Cancellation& cancellation() const { return cancellation_; }
  // Asks the loop for the body unless it is there, and waits for it. Once. The file of a body stays
  // the exchange's: read it while holding the exchange and do not close it.
  Result<Body> TakeBody(Deadline deadline);
  void SendHead(ReplyHead head);
  // Queues bytes; suspends while the exchange is out of credit, so that what is queued exceeds the
  // high mark by less than one call's bytes. kCancelled when the client is gone.
  Status Send(std::string bytes, Deadline deadline);
  // The closing lines of a streamed reply: never suspends, and a run that was cancelled while its
  // client is still there can tell why.
  void SendLast(std::string bytes);
  // Head, body and end of a complete reply; never suspends. Ignored once a head was sent.
  void Reply(ReplyHead head, std::string body, std::string outcome);
  void Annotate(std::string thread_id, std::string run_id);
  // The last item of an exchange; later calls are ignored. ~Exchange sends one if nobody did.
  void End(std::string outcome);
  bool head_sent() const { return head_sent_; }

 private:
  void Push(OutboxPayload payload);
  void PushChunk(std::string bytes);

  const ExchangeAddress address_;
  const RequestHead head_;
  Outbox& outbox_;
  const CreditLimits credit_limits_;
  runtime::Cancellation cancellation_;

  std::mutex mutex_;
  bool body_present_ = false;  // guarded by mutex_
  bool body_taken_ = false;    // guarded by mutex_
  Body body_;                  // guarded by mutex_
  Status body_status_;         // guarded by mutex_
  int body_file_ = -1;         // guarded by mutex_; closed by the destructor
  int64_t body_bytes_ = 0;     // guarded by mutex_; counted until the exchange is gone
  runtime::Signal body_signal_;

  std::atomic<int64_t> queued_bytes_{0};
  runtime::Signal credit_signal_;

  bool head_sent_ = false;  // engine side only
  bool ended_ = false;      // engine side only
};

using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace agent_graph::bridge
