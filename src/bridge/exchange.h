// One HTTP request or one WebSocket connection between the two kinds of thread.
//
// A heap object with shared ownership, never pool memory: the loop's slot table holds one
// reference until the request's cleanup, the engine's fiber holds one until its End. The loop's
// methods never block and never fail; the engine's methods suspend the calling fiber.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

// What the loop may hold of a body that is taken in pieces.
inline constexpr uint64_t kBodyWindowBytes = 128 * 1024;

struct SocketMessage {
  bool binary = false;
  std::string payload;

  // What it counts for in the mailbox: also many empty messages fill it.
  size_t mailbox_bytes() const { return payload.size() + sizeof(SocketMessage); }
};

// What the engine keeps of an accepted WebSocket between two turns, while no fiber belongs to it.
class SocketState {
 public:
  virtual ~SocketState() = default;
};

// nginx times what it sees: the pieces of a body, and how long a client takes nothing. These bound
// the whole of a body, and a wait for the reader that nginx does not see.
inline constexpr std::chrono::minutes kBodyWaitMax{10};
inline constexpr std::chrono::minutes kSendWaitMax{10};

// A WebSocket is one exchange with many turns: the handshake is the first, and from then on a turn
// takes messages until the mailbox is empty. Between turns it has no fiber.
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
  // A piece of a body that is not kept whole; `last` ends it, then `bytes` may be empty.
  void DeliverBodyPiece(std::string bytes, bool last);
  // The answer to Admit.
  void DeliverAdmission();
  // `bytes` have left nginx.
  void ReturnCredit(uint64_t bytes);
  // The request is gone or must end. Cancels the run.
  void Cancel(runtime::CancelReason reason);
  // A message of an accepted WebSocket. True: there is no turn that would take it, and one now
  // begins; give the exchange to Inbox::Resume.
  [[nodiscard]] bool DeliverMessage(SocketMessage message);
  // There will be no more messages. Those that were not taken are dropped, unless a turn that
  // handles many is running.
  void CloseMailbox();
  void RequestLeave();
  // Cancels what handles the `ordinal`th message, counted from 1, unless that is over.
  void CancelMessage(uint64_t ordinal, runtime::CancelReason reason);

  // --- Engine side (one fiber at a time) ----------------------------------------------------
  const runtime::Cancellation& cancellation() const { return cancellation_; }
  // Asks the loop for the body unless it is there, and waits for it. Once. A body in a file is to
  // be read on the io pool, and its descriptor closed as soon as that is done.
  Result<Body> TakeBody(Deadline deadline);
  // The next piece of a body that nobody keeps whole, empty at its end. The loop reads as fast as
  // pieces are taken and holds kBodyWindowBytes at most besides. On a fiber.
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
  void SendHead(ReplyHead head);
  // Queues a part of a file as the body, or the rest of it; never suspends.
  void SendFile(FileDescriptor file, uint64_t offset, uint64_t length);
  // Queues a copy of the bytes; suspends while the exchange is out of credit, at most for
  // `wait_max`, so that what is queued exceeds the high mark by less than one call's bytes.
  // kCancelled when the client is gone. Does not look at `bytes` again after it suspended.
  Status Send(std::string_view bytes, std::chrono::milliseconds wait_max);
  // The closing lines of a streamed reply: never suspends, and a run that was cancelled while its
  // client is still there can tell why.
  void SendLast(std::string_view bytes);
  // Head, body and end of a complete reply; never suspends. Ignored once a head was sent. The body
  // comes in parts, so that a large one need not be copied to get something around it.
  void Reply(ReplyHead head, std::vector<std::string> body, std::string outcome);
  void Annotate(std::string thread_id, std::string run_id);
  // A run of the graph has ended, one of many perhaps.
  void CountRun(std::string outcome);
  // The last item of an exchange; later calls are ignored. ~Exchange sends one if nobody did.
  void End(std::string outcome);
  bool head_sent() const { return head_sent_; }
  bool ended() const { return ended_; }

  // A WebSocket's handshake was good: `head` is the 101. `state` lives as long as the exchange.
  void AcceptSocket(ReplyHead head, std::unique_ptr<SocketState> state);
  // Null until it was accepted.
  SocketState* socket_state() const { return socket_state_.get(); }
  // For a turn that handles many messages at once, as long as it lasts: `arrival` is notified when
  // there may be something new in a message, the mailbox's end, room towards the client, or a wish
  // to leave. Null: no more.
  void NotifyArrivals(runtime::Signal* arrival);
  // The next message within the turn and its cancellation; nothing while there is none.
  std::optional<SocketMessage> TakeMessage();
  // Nothing comes any more, and everything that came was taken.
  bool mailbox_drained() const;
  // The worker is leaving: the session should end soon.
  bool leaving() const { return leaving_; }
  // What a session holds besides; undone by the caller.
  void CountBuffered(int64_t bytes) { outbox_.memory().CountBuffered(bytes); }
  uint64_t worker_buffered_bytes() const { return outbox_.memory().buffered(); }
  // Queued towards the client.
  int64_t queued_bytes() const { return queued_bytes_; }
  const CreditLimits& credit_limits() const { return credit_limits_; }

  // The next message of this turn. Nothing: the turn is over, and the caller must leave the
  // exchange alone, because the next turn may have begun.
  std::optional<SocketMessage> NextMessage();
  // Suspends while the exchange is out of credit, between two messages of a turn: the deadline of
  // the message before counts no more.
  Status AwaitReader(std::chrono::milliseconds wait_max);
  // Of the message taken last; cancelled with the exchange, too.
  const runtime::Cancellation& message_cancellation() const { return active_cancellation(); }
  // The closing handshake and the end. `outcome` as for End.
  void CloseSocket(uint16_t code, std::string reason, std::string outcome);

 private:
  const runtime::Cancellation& active_cancellation() const {
    return message_cancellation_ ? *message_cancellation_ : cancellation_;
  }
  void NotifyArrival();
  void Push(OutboxPayload payload);
  bool HasCredit() const;
  Status AwaitRoom(const runtime::Cancellation& cancellation, std::chrono::milliseconds wait_max);
  Result<std::string> TakeStoredPiece();
  void PushChunk(std::string_view bytes);
  void CountQueued(size_t bytes);
  // With mutex_ held.
  SocketMessage PopMessage();
  void ForgetTakenMessage();
  void CountMailbox(int64_t bytes);
  void CountBodyElsewhere();

  const ExchangeAddress address_;
  const RequestHead head_;
  Outbox& outbox_;
  const CreditLimits credit_limits_;
  runtime::Cancellation cancellation_;

  mutable std::mutex mutex_;
  runtime::Signal* arrival_ = nullptr;  // guarded by mutex_
  bool body_present_ = false;           // guarded by mutex_
  bool body_taken_ = false;             // guarded by mutex_
  Body body_;                           // guarded by mutex_
  Status body_status_;                  // guarded by mutex_
  int64_t body_bytes_ = 0;              // guarded by mutex_; counted until the exchange is gone
  int64_t body_bytes_elsewhere_ = 0;    // guarded by mutex_; of these, not in memory
  runtime::Signal body_signal_;
  std::deque<std::string> body_pieces_;  // guarded by mutex_
  bool body_complete_ = false;           // guarded by mutex_; the last piece has come
  // Engine side only: not asked for again yet; or where the next piece of a file begins.
  uint64_t body_taken_bytes_ = 0;
  bool body_asked_ = false;  // engine side only
  std::atomic<bool> admitted_{false};
  runtime::Signal admission_signal_;

  std::atomic<bool> leaving_{false};
  std::atomic<int64_t> queued_bytes_{0};
  runtime::Signal credit_signal_;

  // A list takes no memory while it is empty, as it is in most exchanges for good.
  std::list<SocketMessage> mailbox_;  // guarded by mutex_
  // Of the mailbox and of the message taken last, which is somewhere in its run; guarded by mutex_.
  int64_t mailbox_bytes_ = 0;
  int64_t taken_bytes_ = 0;
  bool mailbox_closed_ = false;  // guarded by mutex_
  bool turn_running_ = true;     // guarded by mutex_; the handshake is a turn
  uint64_t messages_taken_ = 0;  // guarded by mutex_
  // Replaced under mutex_ by the engine side; none before the first message.
  std::optional<runtime::Cancellation> message_cancellation_;

  int64_t held_bytes_ = 0;  // engine side only, like the next three
  Outbox::OpenChunk open_chunk_;
  bool head_sent_ = false;
  bool ended_ = false;
  std::unique_ptr<SocketState> socket_state_;
};

using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace agent_graph::bridge
