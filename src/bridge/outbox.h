// Queue from the engine to the event loop: many producers, one consumer (the worker's event loop).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "bridge/request.h"
#include "bridge/worker_memory.h"

namespace agent_graph::bridge {

// Address of an exchange on the loop's side. A reused slot gets a higher generation, so that items
// for a request that is gone are recognised and dropped.
struct ExchangeAddress {
  uint32_t slot = 0;
  uint32_t generation = 0;
};

enum class LogLevel : uint8_t { kDebug, kInfo, kNotice, kWarn, kError, kCritical };

// Inbound credit: the loop may read this many more body bytes. The first one also permits it to
// start reading; it is sent after the credentials in the head were checked. For a WebSocket: a
// message was taken from the mailbox, which now has room for this many more bytes.
struct ReadBody {
  uint64_t bytes = 0;
};
// The head of a reply.
struct SendHead {
  ReplyHead head;
};
// A part of the body of a reply.
struct SendChunk {
  std::string bytes;  // use up the exchange's credit until they have left nginx
};
// A part of a file, sent by the kernel where possible. It uses no credit, because its bytes are not
// in memory.
struct SendFile {
  FileDescriptor file;
  uint64_t offset = 0;
  uint64_t length = 0;  // not 0
};
// The end of an exchange. The outcome goes to the access log variables.
struct End {
  std::string outcome =
      "ok";  // ok | error | cancelled | client_abort | timeout | shutdown | rejected
};
// A run of the graph has ended; `outcome` as for End, but never "rejected". It is counted even if
// its request is gone, or if it is an accepted run, which belongs to no request.
struct RunOver {
  std::string outcome;
};
// Starts the closing handshake of a WebSocket, after the frames that are already queued.
struct CloseSocket {
  uint16_t code = 1000;
  std::string reason;
};
// The message taken last is finished. The next one is taken only after the client has read.
struct MessageOver {};
// The turn that handled messages of this WebSocket has ended; the next message begins another one.
struct TurnOver {};
// Asks for a rate-limit check, now that the user is known. If there is room, the loop calls
// Exchange::DeliverAdmission; otherwise it answers the request itself and cancels the exchange.
struct Admit {
  std::string user_id;  // empty: the credential was refused
};
// A line for the error log.
struct WriteLog {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

using OutboxPayload = std::variant<ReadBody, SendHead, SendChunk, SendFile, End, WriteLog, RunOver,
                                   CloseSocket, MessageOver, TurnOver, Admit>;

struct OutboxItem {
  ExchangeAddress address;  // ignored for a WriteLog or RunOver
  OutboxPayload payload;
};

// One per worker. Push is thread-safe and never waits for the loop; the eventfd is written only
// when the queue was empty or has become long. The credit of the exchanges bounds the memory; the
// outbox itself does not.
class Outbox {
 public:
  // Position of the latest item of an exchange if that is a chunk. Only PushChunk sets it; the
  // exchange resets it when it pushes anything else.
  class OpenChunk {
    friend class Outbox;
    uint64_t batch_ = 0;
    size_t index_ = 0;
  };

  // Creates the eventfd (non-blocking, close-on-exec); see ok(). `memory_max` bounds memory().
  explicit Outbox(uint64_t memory_max = WorkerMemory::kUnlimited);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  bool ok() const { return doorbell_ >= 0; }
  int doorbell() const { return doorbell_; }

  // Queues an item. Thread-safe.
  void Push(OutboxItem item);
  // Pushes a SendChunk with a copy of these bytes. Small chunks are appended to `open` while the
  // loop has not taken that item. A slow loop thus handles few items per exchange, even if lines
  // are short and many exchanges write in turns.
  void PushChunk(ExchangeAddress address, std::string_view bytes, OpenChunk& open);
  // Queues a line for the worker's error log, from any engine thread. Lines that arrive faster than
  // the loop takes them are dropped and counted.
  void Log(LogLevel level, std::string text);

  // Memory that all exchanges together hold.
  WorkerMemory& memory() { return memory_; }
  const WorkerMemory& memory() const { return memory_; }

  // Loop only: takes all queued items; clear the doorbell first. `items` is cleared and reused.
  void Swap(std::vector<OutboxItem>& items);
  // Loop only: resets the eventfd. Call it before Swap, so that no ring is lost.
  void ClearDoorbell();

  // For the status page.
  size_t queued() const;
  uint64_t doorbells() const { return doorbells_; }  // wake-ups of the loop
  uint64_t credit_stalls() const { return credit_stalls_; }
  // Counts a producer that has to wait for credit towards its client.
  void CountCreditStall() { ++credit_stalls_; }

 private:
  static constexpr size_t kQueuedLogLinesMax = 1024;

  void Announce(size_t queued_before);
  void RingDoorbell() const;

  const int doorbell_;
  WorkerMemory memory_;
  mutable std::atomic<uint64_t> doorbells_{0};
  std::atomic<uint64_t> credit_stalls_{0};
  mutable Mutex mutex_;
  std::vector<OutboxItem> items_ AG_GUARDED_BY(mutex_);
  uint64_t batch_ AG_GUARDED_BY(mutex_) = 1;    // number of the batch in items_; counts the swaps
  size_t log_lines_ AG_GUARDED_BY(mutex_) = 0;  // in items_
  size_t log_lines_dropped_ AG_GUARDED_BY(mutex_) = 0;  // since the last Swap
};

}  // namespace agent_graph::bridge
