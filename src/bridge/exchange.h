// An exchange: one HTTP request or one WebSocket connection, shared by the event loop and the
// engine.
//
// It is a heap object with shared ownership and never lives in an nginx pool: the loop's slot table
// holds one reference until nginx cleans the request up, the engine's fiber holds one until it has
// sent End. The methods of the loop never block and never fail; methods of the engine may suspend
// the calling fiber.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "bridge/outbox.h"
#include "bridge/request.h"
#include "bridge/request_body.h"
#include "bridge/socket_channel.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::bridge {

// Limits for bytes that are queued towards the client.
struct CreditLimits {
  uint64_t high = 256 * 1024;  // maximum bytes queued towards the client
  // A stalled producer resumes at or below this many bytes. While the replies of the worker are
  // many (WorkerMemory::has_many_replies), a producer stalls above them, too.
  uint64_t low = 64 * 1024;
};

// nginx applies timeouts between two pieces of a body, and to a client that does not read. These
// limit the whole time for a body, and a wait for credit that nginx does not see.
inline constexpr std::chrono::minutes kBodyWaitMax{10};
inline constexpr std::chrono::minutes kSendWaitMax{10};

// Ids of the run of a request, for the access log.
struct RunNote {
  std::string thread_id;  // empty: as before
  std::string run_id;     // the same
  MonotonicClock::time_point noted_at = {};
};

// The reply, the credit for it and the cancellation are those of every exchange; the request's body
// and the messages of a WebSocket are parts with headers of their own.
class Exchange {
 public:
  // The exchange is a WebSocket if the head is that of a handshake.
  Exchange(ExchangeAddress address, RequestHead head, Outbox& outbox, CreditLimits credit);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RequestHead& head() const { return head_; }
  ExchangeAddress address() const { return address_; }
  RequestBody& body() { return body_; }
  // Call for a WebSocket only.
  SocketChannel& socket() { return *socket_; }
  const SocketChannel& socket() const { return *socket_; }

  // A WebSocket whose handshake was accepted.
  bool is_open_socket() const { return socket_ != nullptr && socket_->state() != nullptr; }

  // --- Loop side ---------------------------------------------------------------------------
  // Reports that the rate limit admits the request: Admit returns Ok.
  void DeliverAdmission();
  // Returns credit for `bytes` that have left nginx.
  void ReturnCredit(uint64_t bytes);
  // Cancels the run, because the request is gone or must end.
  void Cancel(runtime::CancelReason reason);
  // The engine's latest note, if it was not taken before.
  std::optional<RunNote> TakeNote();

  // --- Engine side (one fiber at a time) ----------------------------------------------------
  const runtime::Cancellation& cancellation() const { return cancellation_; }
  // The cancellation of the WebSocket message that was taken last; cancellation() if there is none.
  const runtime::Cancellation& active_cancellation() const;
  // Waits until the worker has room for `bytes` more, which then count as held by this exchange.
  // Fails as WorkerMemory::AwaitRoom does, without a change.
  Status AwaitMemory(uint64_t bytes, Deadline deadline);
  // The same for the text of the body, before it is asked for. See WorkerMemory::AwaitInputRoom.
  Status AwaitInputMemory(uint64_t bytes, Deadline deadline);
  // Sets what the engine holds for the exchange besides its body, messages and reply. Never waits.
  void Hold(uint64_t bytes);
  uint64_t held_bytes() const { return static_cast<uint64_t>(held_bytes_); }
  // Counts the request for a user and waits for the decision. kCancelled: it is answered already.
  Status Admit(std::string user_id, Deadline deadline);
  // Queues the head of a reply. Never suspends. Ignored once a head was sent.
  void SendHead(ReplyHead head);
  // Queues a part of a file as body data. Never suspends. `length` in bytes; 0 does nothing.
  void SendFile(FileDescriptor file, uint64_t offset, uint64_t length);
  // Queues a copy of the bytes. Suspends while the exchange is out of credit, for `wait_max` at
  // most, so that the queued bytes exceed the high mark by less than the bytes of one call. Bytes
  // that wait count as buffered.
  // kCancelled: the client is gone. Does not read `bytes` after it has suspended.
  Status Send(std::string_view bytes, std::chrono::milliseconds wait_max);
  // Queues the closing lines of a streamed reply. Never suspends, and also works after
  // cancellation, so that a cancelled run can report the reason to a client that is still
  // connected.
  void SendLast(std::string_view bytes);
  // Head, body and end of a complete reply; never suspends. Ignored once a head was sent. The body
  // comes in parts, so that large data need not be copied into its envelope.
  void Reply(ReplyHead head, std::vector<std::string> body, std::string outcome);
  // Notes the run for the access log. The loop is not woken for it: it takes the note with the next
  // item, or when the request is gone.
  void Annotate(std::string thread_id, std::string run_id);
  // Counts a run of the graph that has ended. An exchange may have several runs.
  void CountRun(std::string outcome);
  // Sends the last item of an exchange; later calls are ignored. ~Exchange sends it if it is
  // missing.
  void End(std::string outcome);
  bool head_sent() const { return head_sent_; }
  bool ended() const { return ended_; }

  // Accepts a WebSocket's handshake. `head` is the 101 reply; the exchange owns `state` from now
  // on.
  void AcceptSocket(ReplyHead head, std::unique_ptr<SocketState> state);
  // Suspends while the exchange is out of credit. Called between two messages of a turn: it first
  // ends the deadline of the message before.
  Status AwaitReader(std::chrono::milliseconds wait_max);
  // Starts the closing handshake and ends the exchange. `outcome` as for End.
  void CloseSocket(uint16_t code, std::string reason, std::string outcome);

  // Counts bytes that a session buffers elsewhere. The caller subtracts them when they are freed.
  void CountBuffered(int64_t bytes) { outbox_.memory().CountBuffered(bytes); }
  bool worker_is_full() const { return outbox_.memory().is_full(); }
  uint64_t worker_buffered_bytes() const { return outbox_.memory().buffered(); }
  // Queued towards the client.
  int64_t queued_bytes() const { return queued_bytes_; }
  const CreditLimits& credit_limits() const { return credit_limits_; }

 private:
  void Push(OutboxPayload payload);
  bool HasCredit() const;
  Status AwaitRoom(const runtime::Cancellation& cancellation, std::chrono::milliseconds wait_max);
  void PushChunk(std::string_view bytes);
  void CountQueued(size_t bytes);

  const ExchangeAddress address_;
  const RequestHead head_;
  Outbox& outbox_;
  const CreditLimits credit_limits_;
  const runtime::Cancellation cancellation_;
  RequestBody body_;
  const std::unique_ptr<SocketChannel> socket_;  // null: not a WebSocket

  std::atomic<bool> has_note_{false};
  Mutex note_mutex_;
  RunNote note_ AG_GUARDED_BY(note_mutex_);

  std::atomic<bool> admitted_{false};
  runtime::Signal admission_signal_;
  std::atomic<int64_t> queued_bytes_{0};
  runtime::Signal credit_signal_;

  int64_t held_bytes_ = 0;  // engine side only, like the next three
  Outbox::OpenChunk open_chunk_;
  bool head_sent_ = false;
  bool ended_ = false;
};

using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace agent_graph::bridge
