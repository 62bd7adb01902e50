// Protocol on the state server's Unix socket.
//
// A frame is a four-byte little-endian length and one MessagePack array whose first item is the
// frame type:
//
//   client → server     Hello    client id, process, protocol range, runs that it holds
//                       Request  sequence number, acknowledged-below, operation, time, body
//                       Bye      the client disconnects for good
//                       Pong     answers a Ping
//   candidate → server  Yield    its generation: a server of an older one hands over
//   server → client     Welcome  protocol, server epoch
//                       Refused  the reason why no Welcome follows
//                       Reply    sequence number, status, body
//                       Queued   sequence number of a Begin that waits for its busy thread
//                       GoAway   hand-over: reconnect and resend what was not answered
//                       CancelRun  thread and run: end this run of the client at once
//                       ThreadDeleted  thread: drop everything cached for it
//                       Ping     asks a client that holds leases whether its process still runs
//
// Every request carries a sequence number of its client. The server stores its reply to a mutating
// operation in the same batch as the operation's effect. It keeps the reply until
// acknowledged-below in a later request shows that the client has received it. An operation that is
// resent to the next server is therefore answered from the stored reply and not applied twice.
// Acknowledged-below is the oldest operation that may be resent and whose reply is kept
// (IsAnswerKept); a Begin that waits for an hour, or a read, does not hold it back. Frames of
// unknown type are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "state/types.h"
#include "state/wire/fields.h"
#include "state/wire/memory_fields.h"

namespace agent_graph::state::wire {

inline constexpr uint32_t kProtocolMin = 1;
inline constexpr uint32_t kProtocolMax = 1;
inline constexpr size_t kFrameBytesMax = 64 * 1024 * 1024;
inline constexpr size_t kFrameHeaderBytes = 4;
// Maximum number of unanswered operations of a client; the server closes the connection above it.
inline constexpr size_t kOperationsInFlightMax = 32'768;

enum class FrameType : uint8_t {
  kHello = 1,
  kWelcome = 2,
  kRefused = 3,
  kRequest = 4,
  kReply = 5,
  kGoAway = 6,
  kBye = 7,
  kYield = 8,
  kQueued = 9,
  kCancelRun = 10,
  kThreadDeleted = 11,
  kPing = 12,
  kPong = 13,
};

enum class Operation : uint8_t {
  // Mutating operations, executed in order by the write thread.
  kBeginRun = 1,
  kAppendRun = 2,
  kFinishRun = 3,
  kReleaseRun = 4,
  kRequestStop = 5,
  kPutState = 6,
  kClearState = 7,
  kDeleteThread = 8,
  kDeleteMessage = 9,
  kAppendMessages = 10,
  kRemoveMessages = 11,
  kReplaceRemoteTools = 12,
  kStoreMemory = 16,
  kUpdateMemory = 17,
  kDeleteMemory = 18,
  kRemoveMemories = 19,
  kReplaceVectors = 20,
  // Reads, executed on a snapshot.
  kGetThread = 32,
  kListThreads = 33,
  kGetState = 34,
  kListMessages = 35,
  kGetMessage = 36,
  kReadLog = 37,
  kReadRuns = 38,
  kGetRemoteTools = 39,
  kFindWaitingThread = 40,
  kGetMemory = 48,
  kListMemories = 49,
  kSearchMemories = 50,
  // Maintenance, for administrators.
  kVerify = 60,
  kBackup = 61,
  kListUnembedded = 62,
};

inline bool IsMutating(Operation operation) {
  return operation < Operation::kGetThread;
}

// True if the server keeps the reply until it is acknowledged. A resent Begin or Append is
// recognised by the lease; a resent read is executed again.
inline bool IsAnswerKept(Operation operation) {
  return IsMutating(operation) && operation != Operation::kBeginRun &&
         operation != Operation::kAppendRun;
}

struct Hello {
  std::string magic;
  uint32_t protocol_min = 0;
  uint32_t protocol_max = 0;
  std::string client;
  int64_t process = 0;
  uint64_t process_start = 0;
  std::vector<std::string> runs;  // runs held, or requested by a Begin that is resent
  bool answers_pings = false;     // older clients ignore Ping
};

struct Welcome {
  uint32_t protocol = 0;
  uint64_t epoch = 0;  // 0: a server that cannot serve and refuses every operation
};

struct Refused {
  StatusCode code = StatusCode::kUnavailable;
  std::string message;
};

struct Yield {
  uint64_t generation = 0;
};

struct Queued {
  uint64_t sequence = 0;
};

struct RequestHeader {
  uint64_t sequence = 0;
  uint64_t acknowledged_below = 0;
  Operation operation = Operation::kGetThread;
  // the client's clock; stored in rows, so that a repeated execution gives the same result
  int64_t micros = 0;
};

struct ReplyHeader {
  uint64_t sequence = 0;
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::string detail;
};

struct CancelRun {
  std::string thread_id;
  std::string run_id;
};

struct ThreadDeleted {
  std::string thread_id;
};

// Bodies of operations that have no struct in types.h.
struct NoBody {};
struct ThreadBody {
  Scope scope;
  std::string thread_id;
};
struct MessageBody {
  Scope scope;
  std::string thread_id;
  std::string message_id;
};
struct ListThreadsBody {
  Scope scope;
  PageRequest page;
};
struct ListMessagesBody {
  Scope scope;
  std::string thread_id;
  PageRequest page;
};
struct ReadLogBody {
  Scope scope;
  std::string thread_id;
  uint64_t first = 0;
  uint64_t limit = 0;
};
struct LogBody {
  std::vector<LogEntry> entries;
};
// Releases a run, leased or queued, whose caller no longer waits for Begin.
struct ReleaseBody {
  std::string thread_id;
  std::string run_id;
};

// Copies the database to a backup of this name; see IsBackupName.
struct BackupBody {
  std::string name;
};

template <pack::SameAs<BackupBody> T>
auto Fields(T& s) {
  return std::tie(s.name);
}
template <pack::SameAs<Hello> T>
auto Fields(T& s) {
  return std::tie(s.magic, s.protocol_min, s.protocol_max, s.client, s.process, s.process_start,
                  s.runs, s.answers_pings);
}
template <pack::SameAs<Welcome> T>
auto Fields(T& s) {
  return std::tie(s.protocol, s.epoch);
}
template <pack::SameAs<Refused> T>
auto Fields(T& s) {
  return std::tie(s.code, s.message);
}
template <pack::SameAs<Yield> T>
auto Fields(T& s) {
  return std::tie(s.generation);
}
template <pack::SameAs<Queued> T>
auto Fields(T& s) {
  return std::tie(s.sequence);
}
template <pack::SameAs<CancelRun> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id);
}
template <pack::SameAs<ThreadDeleted> T>
auto Fields(T& s) {
  return std::tie(s.thread_id);
}
template <pack::SameAs<NoBody> T>
auto Fields(T&) {
  return std::tie();
}
template <pack::SameAs<ThreadBody> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id);
}
template <pack::SameAs<MessageBody> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.message_id);
}
template <pack::SameAs<ListThreadsBody> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.page);
}
template <pack::SameAs<ListMessagesBody> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.page);
}
template <pack::SameAs<ReadLogBody> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.first, s.limit);
}
template <pack::SameAs<LogBody> T>
auto Fields(T& s) {
  return std::tie(s.entries);
}
template <pack::SameAs<ReleaseBody> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id);
}

inline constexpr std::string_view kMagic = "agent-graph-state";

// Starts a frame: reserves the length, writes the array marker and the type. Complete with
// EndFrame.
std::string BeginFrame(FrameType type, size_t items_after_type);
// Writes the length. Returns false if the frame exceeds kFrameBytesMax.
[[nodiscard]] bool EndFrame(std::string& frame);

// Makes a frame with one struct as body, or without a body.
template <typename Body>
std::string MakeFrame(FrameType type, const Body& body) {
  std::string frame = BeginFrame(type, 1);
  pack::Packer packer(frame);
  pack::Pack(packer, body);
  return EndFrame(frame) ? frame : std::string();
}
std::string MakeFrame(FrameType type);

// Makes a complete request except for sequence and acknowledged-below, which are known only under
// the client's lock; NumberRequest sets them. Returns an empty string if the frame is too large.
template <typename Body>
std::string MakeRequest(Operation operation, int64_t micros, const Body& body) {
  std::string frame = BeginFrame(FrameType::kRequest, 5);
  pack::Packer packer(frame);
  packer.FixedUnsigned(0);
  packer.FixedUnsigned(0);
  pack::Pack(packer, operation);
  pack::Pack(packer, micros);
  pack::Pack(packer, body);
  return EndFrame(frame) ? frame : std::string();
}
void NumberRequest(std::string& frame, uint64_t sequence, uint64_t acknowledged_below);
// Returns the operation of a frame that MakeRequest made.
Operation OperationOf(std::string_view frame);

// `body` is a packed value; empty: no body. A reply that would exceed kFrameBytesMax becomes
// kResourceExhausted.
std::string MakeReply(uint64_t sequence, const Status& status, std::string_view body);

// Returns the type of a frame's payload (without the length); `unpacker` is left at the next item.
FrameType ReadFrameType(pack::Unpacker& unpacker);
// Call after ReadFrameType; the body follows.
RequestHeader ReadRequestHeader(pack::Unpacker& unpacker);
ReplyHeader ReadReplyHeader(pack::Unpacker& unpacker);

template <typename Body>
[[nodiscard]] bool ReadBody(pack::Unpacker& unpacker, Body& body) {
  pack::Unpack(unpacker, body);
  return unpacker.ok();
}

// Splits a byte stream into frame payloads.
class FrameReader {
 public:
  // Appends received bytes.
  void Add(std::string_view bytes);
  // Returns true and the next payload; false if more bytes are needed or the stream is broken().
  [[nodiscard]] bool Next(std::string& payload);
  // True if a length above kFrameBytesMax was received: the peer does not use this protocol.
  bool broken() const { return broken_; }

 private:
  std::string buffer_;
  size_t consumed_ = 0;
  bool broken_ = false;
};

}  // namespace agent_graph::state::wire
