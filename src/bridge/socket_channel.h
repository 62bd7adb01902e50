// The part of an exchange that only WebSockets have: a mailbox of messages, and turns that handle
// them.
//
// The handshake is the first turn; each later turn takes messages until the mailbox is empty.
// Between turns the exchange has no fiber. A turn takes messages one at a time (NextMessage), or
// handles several at once (NotifyArrivals, TakeMessage), as a live session does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "bridge/outbox.h"
#include "bridge/worker_memory.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::bridge {

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

// Part of an exchange. The methods of the loop never block and never fail.
class SocketChannel {
 public:
  using Push = std::function<void(OutboxPayload)>;

  // `memory` and `cancellation`, which is that of the whole exchange, must outlive the channel.
  // `push` sends an item to the loop; called by the engine side.
  SocketChannel(WorkerMemory& memory, const runtime::Cancellation& cancellation, Push push)
      : memory_(memory), cancellation_(cancellation), push_(std::move(push)) {}
  ~SocketChannel();
  SocketChannel(const SocketChannel&) = delete;
  SocketChannel& operator=(const SocketChannel&) = delete;

  // --- Loop side ---
  // Adds a message to the mailbox. Returns true if no turn is running to take it: the caller then
  // starts one with Inbox::Resume. A message after Close is dropped.
  [[nodiscard]] bool Deliver(SocketMessage message);
  // Ends the mailbox: no more messages follow. Returns true if a turn that handles several messages
  // at once is running: it still gets the messages that were not taken. Otherwise they are dropped.
  bool Close();
  // Asks the session to end soon, because the worker is exiting: leaving() becomes true, and the
  // mailbox ends when the message taken last is over.
  void RequestLeave();
  // Cancels the handling of message number `ordinal` (the first is 1) unless it is over.
  void CancelMessage(uint64_t ordinal, runtime::CancelReason reason);
  // The exchange was cancelled: so is the message that was taken last.
  void CancelTakenMessage(runtime::CancelReason reason);
  // There is credit towards the client again.
  void NotifyArrival();

  // --- Engine side (one fiber at a time) ---
  // Null until the handshake was accepted.
  SocketState* state() const { return state_.get(); }
  void SetState(std::unique_ptr<SocketState> state);
  // True if the worker is exiting: the session should end soon.
  bool leaving() const { return leaving_; }

  // Takes the next message of this turn. nullopt: the turn is over, and the caller must not use the
  // exchange any more, because the next turn may already be running.
  std::optional<SocketMessage> NextMessage();
  // Call when the exchange counts the message taken last, and the objects made from it, as held.
  // The message also continues to count as buffered.
  void CountedAsHeld();
  // Cancellation of the message taken last; null before the first one. Cancelling the exchange
  // cancels it, too.
  const runtime::Cancellation* message_cancellation() const {
    return message_cancellation_ ? &*message_cancellation_ : nullptr;
  }

  // For a turn that handles several messages at once: until it calls this with null, `arrival` is
  // notified when there may be a new message, when the mailbox is closed, when there is credit
  // towards the client again, and when the worker leaves.
  void NotifyArrivals(runtime::Signal* arrival);
  // Takes the next message of such a turn; nullopt if there is none.
  std::optional<SocketMessage> TakeMessage();
  // True if the mailbox is closed and every message was taken.
  bool drained() const;

 private:
  SocketMessage PopMessage() AG_REQUIRES(mutex_);
  // message_cancellation_, for the loop side.
  std::optional<runtime::Cancellation> TakenMessage() const AG_REQUIRES(mutex_) {
    return message_cancellation_;
  }
  void ForgetTakenMessage() AG_REQUIRES(mutex_);
  // Returns the size in bytes of the dropped messages.
  int64_t EndMailbox() AG_REQUIRES(mutex_);
  void CountMailbox(int64_t bytes) AG_REQUIRES(mutex_);

  WorkerMemory& memory_;
  const runtime::Cancellation& cancellation_;
  const Push push_;

  std::atomic<bool> leaving_{false};

  mutable Mutex mutex_;
  runtime::Signal* arrival_ AG_GUARDED_BY(mutex_) = nullptr;
  std::list<SocketMessage> mailbox_ AG_GUARDED_BY(mutex_);  // takes no memory while it is empty
  // Bytes of the mailbox, and of the message taken last, which is somewhere in its run.
  int64_t mailbox_bytes_ AG_GUARDED_BY(mutex_) = 0;
  int64_t taken_bytes_ AG_GUARDED_BY(mutex_) = 0;
  int64_t taken_bytes_elsewhere_ AG_GUARDED_BY(mutex_) =
      0;  // the part of taken_bytes_ that is counted as held
  bool closed_ AG_GUARDED_BY(mutex_) = false;
  bool turn_running_ AG_GUARDED_BY(mutex_) = true;     // the handshake is a turn
  bool turn_has_taken_ AG_GUARDED_BY(mutex_) = false;  // the turn has taken a message
  uint64_t messages_taken_ AG_GUARDED_BY(mutex_) = 0;
  // None before the first message. Not AG_GUARDED_BY: the engine side alone replaces it, under
  // mutex_, and reads its own writes without the lock.
  std::optional<runtime::Cancellation> message_cancellation_;

  std::unique_ptr<SocketState> state_;  // engine side only
};

}  // namespace agent_graph::bridge
