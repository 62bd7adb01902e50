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
#include <deque>
#include <list>
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
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::bridge {

// Limits for bytes that are queued towards the client.
struct CreditLimits {
  uint64_t high = 256 * 1024;  // maximum bytes queued towards the client
  uint64_t low = 64 * 1024;    // a stalled producer resumes at or below this many bytes
};

// Maximum bytes that the loop holds of a body that is taken in pieces.
inline constexpr uint64_t kBodyWindowBytes = 128 * 1024;

// A message of a WebSocket.
struct SocketMessage {
  bool binary = false;
  std::string payload;

  // Bytes that the message counts for in the mailbox. Includes a fixed part, so that many empty
  // messages fill the mailbox, too.
  size_t mailbox_bytes() const { return payload.size() + sizeof(SocketMessage); }
};

// Engine-side state of an accepted WebSocket. It is kept between turns, when no fiber handles the
// connection.
class SocketState {
 public:
  virtual ~SocketState() = default;
};

// nginx applies timeouts between two pieces of a body, and to a client that does not read. These
// limit the whole time for a body, and a wait for credit that nginx does not see.
inline constexpr std::chrono::minutes kBodyWaitMax{10};
inline constexpr std::chrono::minutes kSendWaitMax{10};

// A WebSocket is one exchange with many turns. The handshake is the first turn; each later turn
// takes messages until the mailbox is empty. Between turns the exchange has no fiber.
class Exchange {
 public:
  Exchange(ExchangeAddress address, RequestHead head, Outbox& outbox, CreditLimits credit);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RequestHead& head() const { return head_; }
  ExchangeAddress address() const { return address_; }

  // --- Loop side ---------------------------------------------------------------------------
  // Delivers the whole body, before Submit or after a ReadBody item. A second call is ignored.
  void DeliverBody(Body body);
  // Reports that the body will not arrive (client gone, body too large): TakeBody and TakeBodyPiece
  // fail with `status`.
  void FailBody(Status status);
  // Delivers a piece of a body that is taken in pieces. `last` marks the final piece, which may be
  // empty.
  void DeliverBodyPiece(std::string bytes, bool last);
  // Reports that the rate limit admits the request: Admit returns Ok.
  void DeliverAdmission();
  // Returns credit for `bytes` that have left nginx.
  void ReturnCredit(uint64_t bytes);
  // Cancels the run, because the request is gone or must end.
  void Cancel(runtime::CancelReason reason);
  // Adds a message of an accepted WebSocket to the mailbox. Returns true if no turn is running to
  // take it: the caller then starts one with Inbox::Resume. A message after CloseMailbox is
  // dropped.
  [[nodiscard]] bool DeliverMessage(SocketMessage message);
  // Ends the mailbox: no more messages follow. Messages that were not taken are dropped, unless a
  // turn that handles several messages at once (NotifyArrivals) is running.
  void CloseMailbox();
  // Asks the session to end soon, because the worker is exiting: leaving() becomes true.
  void RequestLeave();
  // Cancels the handling of message number `ordinal` (the first is 1) unless it is over.
  void CancelMessage(uint64_t ordinal, runtime::CancelReason reason);

  // --- Engine side (one fiber at a time) ----------------------------------------------------
  const runtime::Cancellation& cancellation() const { return cancellation_; }
  // Requests the body from the loop if it has not arrived, and waits for it. May be called once. If
  // the body is in a file, the caller reads it on the io pool and closes the descriptor as soon as
  // it has been read.
  Result<Body> TakeBody(Deadline deadline);
  // Returns the next piece of a body that is not kept whole; empty at its end. The loop reads as
  // fast as pieces are taken and holds at most kBodyWindowBytes more. Call it on a fiber.
  Result<std::string> TakeBodyPiece(Deadline deadline);
  // The body that was taken has been freed: what it became is counted by Hold. It goes on to count
  // for what the worker admits.
  void FreedBody();
  // Waits until the worker has room for `bytes` more, which then count as held by this exchange.
  // Fails as WorkerMemory::AwaitRoom does, without a change.
  Status AwaitMemory(uint64_t bytes, Deadline deadline);
  // Sets what the engine holds for the exchange besides its body, messages and reply. Never waits.
  void Hold(uint64_t bytes);
  // Counts the request for a user and waits for the decision. kCancelled: it is answered already.
  Status Admit(std::string user_id, Deadline deadline);
  // Queues the head of a reply. Never suspends. Ignored once a head was sent.
  void SendHead(ReplyHead head);
  // Queues a part of a file as body data. Never suspends. `length` in bytes; 0 does nothing.
  void SendFile(FileDescriptor file, uint64_t offset, uint64_t length);
  // Queues a copy of the bytes. Suspends while the exchange is out of credit, for `wait_max` at
  // most, so that the queued bytes exceed the high mark by less than the bytes of one call.
  // kCancelled: the client is gone. Does not read `bytes` after it has suspended.
  Status Send(std::string_view bytes, std::chrono::milliseconds wait_max);
  // Queues the closing lines of a streamed reply. Never suspends, and also works after
  // cancellation, so that a cancelled run can report the reason to a client that is still
  // connected.
  void SendLast(std::string_view bytes);
  // Head, body and end of a complete reply; never suspends. Ignored once a head was sent. The body
  // comes in parts, so that a large one need not be copied to get something around it.
  void Reply(ReplyHead head, std::vector<std::string> body, std::string outcome);
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
  // Null until the WebSocket was accepted.
  SocketState* socket_state() const { return socket_state_.get(); }
  // For a turn that handles several messages at once: until it calls this with null, `arrival` is
  // notified when there may be a new message, when the mailbox is closed, when there is credit
  // towards the client again, and when the worker leaves.
  void NotifyArrivals(runtime::Signal* arrival);
  // Takes the next message of such a turn; nullopt if there is none.
  std::optional<SocketMessage> TakeMessage();
  // True if the mailbox is closed and every message was taken.
  bool mailbox_drained() const;
  // True if the worker is exiting: the session should end soon.
  bool leaving() const { return leaving_; }
  // What a session holds besides; undone by the caller.
  void CountBuffered(int64_t bytes) { outbox_.memory().CountBuffered(bytes); }
  uint64_t worker_buffered_bytes() const { return outbox_.memory().buffered(); }
  // Queued towards the client.
  int64_t queued_bytes() const { return queued_bytes_; }
  const CreditLimits& credit_limits() const { return credit_limits_; }

  // Takes the next message of this turn. nullopt: the turn is over, and the caller must not use the
  // exchange any more, because the next turn may already be running.
  std::optional<SocketMessage> NextMessage();
  // Suspends while the exchange is out of credit. Called between two messages of a turn: it first
  // ends the deadline of the message before.
  Status AwaitReader(std::chrono::milliseconds wait_max);
  // Cancellation of the message taken last. Cancelling the exchange cancels it, too.
  const runtime::Cancellation& message_cancellation() const { return active_cancellation(); }
  // Starts the closing handshake and ends the exchange. `outcome` as for End.
  void CloseSocket(uint16_t code, std::string reason, std::string outcome);

 private:
  const runtime::Cancellation& active_cancellation() const {
    return message_cancellation_ ? *message_cancellation_ : cancellation_;
  }
  void NotifyArrival();
  void Push(OutboxPayload payload);
  bool HasCredit() const;
  Status AwaitRoom(const runtime::Cancellation& cancellation, std::chrono::milliseconds wait_max);
  Result<std::string> TakeStoredPiece(Body& body);
  void PushChunk(std::string_view bytes);
  void CountQueued(size_t bytes);
  SocketMessage PopMessage() AG_REQUIRES(mutex_);
  void ForgetTakenMessage() AG_REQUIRES(mutex_);
  void CountMailbox(int64_t bytes) AG_REQUIRES(mutex_);
  void CountBodyElsewhere() AG_REQUIRES(mutex_);

  const ExchangeAddress address_;
  const RequestHead head_;
  Outbox& outbox_;
  const CreditLimits credit_limits_;
  runtime::Cancellation cancellation_;

  mutable Mutex mutex_;
  runtime::Signal* arrival_ AG_GUARDED_BY(mutex_) = nullptr;
  bool body_present_ AG_GUARDED_BY(mutex_) = false;
  bool body_taken_ AG_GUARDED_BY(mutex_) = false;
  Body body_ AG_GUARDED_BY(mutex_);
  Status body_status_ AG_GUARDED_BY(mutex_);
  int64_t body_bytes_ AG_GUARDED_BY(mutex_) = 0;            // counted until the exchange is gone
  int64_t body_bytes_elsewhere_ AG_GUARDED_BY(mutex_) = 0;  // of these, not in memory
  runtime::Signal body_signal_;
  std::deque<std::string> body_pieces_ AG_GUARDED_BY(mutex_);
  bool body_complete_ AG_GUARDED_BY(mutex_) = false;  // the last piece has come
  // Engine side only: not asked for again yet; or where the next piece of a file begins.
  uint64_t body_taken_bytes_ = 0;
  bool body_asked_ = false;  // engine side only
  std::atomic<bool> admitted_{false};
  runtime::Signal admission_signal_;

  std::atomic<bool> leaving_{false};
  std::atomic<int64_t> queued_bytes_{0};
  runtime::Signal credit_signal_;

  // A list takes no memory while it is empty, as it is in most exchanges for good.
  std::list<SocketMessage> mailbox_ AG_GUARDED_BY(mutex_);
  // Of the mailbox and of the message taken last, which is somewhere in its run.
  int64_t mailbox_bytes_ AG_GUARDED_BY(mutex_) = 0;
  int64_t taken_bytes_ AG_GUARDED_BY(mutex_) = 0;
  bool mailbox_closed_ AG_GUARDED_BY(mutex_) = false;
  bool turn_running_ AG_GUARDED_BY(mutex_) = true;  // the handshake is a turn
  uint64_t messages_taken_ AG_GUARDED_BY(mutex_) = 0;
  // None before the first message. Not AG_GUARDED_BY: the engine side alone replaces it, under
  // mutex_, and reads its own writes without the lock.
  std::optional<runtime::Cancellation> message_cancellation_;

  int64_t held_bytes_ = 0;  // engine side only, like the next three
  Outbox::OpenChunk open_chunk_;
  bool head_sent_ = false;
  bool ended_ = false;
  std::unique_ptr<SocketState> socket_state_;
};

using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace agent_graph::bridge
