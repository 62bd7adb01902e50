// Engine → loop: many producers, one consumer (the worker's event loop).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file_descriptor.h"
#include "bridge/request.h"
#include "bridge/worker_memory.h"

namespace agent_graph::bridge {

// Addresses an exchange on the loop's side. A slot is reused with a higher generation, so an item
// for a request that is gone is recognised and dropped.
struct ExchangeAddress {
  uint32_t slot = 0;
  uint32_t generation = 0;
};

enum class LogLevel : uint8_t { kDebug, kInfo, kNotice, kWarn, kError, kCritical };

// Inbound credit: the loop may read this many more body bytes. The first one is the permission to
// read at all, given after credentials were checked on the head. Of a WebSocket: a message was
// taken from the mailbox, which has that much more room.
struct ReadBody {
  uint64_t bytes = 0;
};
struct SendHead {
  ReplyHead head;
};
struct SendChunk {
  std::string bytes;  // counted against the exchange's credit until they left nginx
};
// A part of a file, sent by the kernel where it can. Takes no credit: its bytes are not in memory.
struct SendFile {
  FileDescriptor file;
  uint64_t offset = 0;
  uint64_t length = 0;  // not 0
};
// How the exchange ended, for the access log variables.
struct End {
  std::string outcome =
      "ok";  // ok | error | cancelled | client_abort | timeout | shutdown | rejected
};
// Values for the access log; sent at any time before End.
struct Annotate {
  std::string thread_id;
  std::string run_id;
};
// A run of the graph that had begun has ended; `outcome` as for End, never "rejected". Counted also
// when its request is long gone.
struct RunOver {
  std::string outcome;
};
// Begins the closing handshake of a WebSocket, behind the frames queued before.
struct CloseSocket {
  uint16_t code = 1000;
  std::string reason;
};
// The message taken last is over, and the next is not taken before the client has read.
struct MessageOver {};
// Nobody handles messages of this WebSocket any more; the next one resumes it.
struct TurnOver {};
// The caller is known: whether its rate limit has room. Answered by Exchange::DeliverAdmission; a
// refusal is answered by the loop itself, which then cancels the exchange.
struct Admit {
  std::string user_id;  // empty: the credential was refused
};
struct WriteLog {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

using OutboxPayload = std::variant<ReadBody, SendHead, SendChunk, SendFile, End, Annotate, WriteLog,
                                   RunOver, CloseSocket, MessageOver, TurnOver, Admit>;

struct OutboxItem {
  ExchangeAddress address;  // ignored for WriteLog without an exchange (generation 0)
  OutboxPayload payload;
};

// One per worker. Push is thread-safe and never blocks on the loop; the eventfd is written only
// when the queue was empty. Memory is bounded by the credit of the exchanges, not here.
class Outbox {
 public:
  // Where the latest item of an exchange is queued, if that is a chunk. Changed by PushChunk only;
  // the exchange resets it when it pushes anything else.
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

  void Push(OutboxItem item);
  // A SendChunk of a copy of these bytes. Small ones are appended to `open` while the loop has not
  // taken that: a loop that lags behind has few items an exchange to handle, however short its
  // lines are and however many exchanges write in turns.
  void PushChunk(ExchangeAddress address, std::string_view bytes, OpenChunk& open);
  // A line for the worker's error log, from any engine thread. Lines that come faster than the
  // loop takes them are dropped and counted.
  void Log(LogLevel level, std::string text);

  // What all exchanges together hold.
  WorkerMemory& memory() { return memory_; }
  const WorkerMemory& memory() const { return memory_; }

  // Loop only: takes everything queued; read the doorbell first. `items` is cleared and reused.
  void Swap(std::vector<OutboxItem>& items);
  void ClearDoorbell();

  // For the status page.
  size_t queued() const;
  uint64_t doorbells() const { return doorbells_; }  // wake-ups of the loop
  uint64_t credit_stalls() const { return credit_stalls_; }
  // A producer waits for room towards its client.
  void CountCreditStall() { ++credit_stalls_; }

 private:
  static constexpr size_t kQueuedLogLinesMax = 1024;

  void Announce(size_t queued_before);
  void RingDoorbell() const;

  const int doorbell_;
  WorkerMemory memory_;
  mutable std::atomic<uint64_t> doorbells_{0};
  std::atomic<uint64_t> credit_stalls_{0};
  mutable std::mutex mutex_;
  std::vector<OutboxItem> items_;  // guarded by mutex_, like the rest
  uint64_t batch_ = 1;             // of items_; counts the swaps
  size_t log_lines_ = 0;           // in items_
  size_t log_lines_dropped_ = 0;   // since the last Swap
};

}  // namespace agent_graph::bridge
