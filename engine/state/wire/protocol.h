// What goes over the owner's Unix socket.
//
// A frame is a four-byte little-endian length and one MessagePack array whose first item is the
// frame type:
//
//   client → owner   Hello    client id, process, protocol range, runs it still holds
//                    Request  sequence number, acknowledged-below, operation, time, body
//                    Bye      the client leaves for good
//                    Pong     answers a Ping
//   candidate → owner Yield   its generation: an owner of an older one hands over
//   owner → client   Welcome  protocol, owner epoch
//                    Refused  why there will be no Welcome
//                    Reply    sequence number, status, body
//                    Queued   sequence number of a Begin that waits for its busy thread
//                    GoAway   hand-over: reconnect and send again what was not answered
//                    CancelRun  thread and run: a run of this client is to end at once
//                    ThreadDeleted  thread: whatever was remembered of it is no longer true
//                    Ping     asks a client that holds leases whether its process still runs
//
// Every request carries a sequence number of its client. The owner stores, in the same batch as the
// effect of a mutating operation, what it answered, until a later request says by
// acknowledged-below that the answer arrived: an operation sent again to the next owner is
// answered, not applied twice. Acknowledged-below is the oldest operation that may be sent again
// and whose answer is kept (IsAnswerKept); a Begin that waits for an hour, or a read, holds nothing
// back. Frames of unknown type are skipped.
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
// Operations a client may have unanswered; the owner treats more as a broken peer.
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
  // Mutating, executed in order by the write thread.
  kBegin = 1,
  kAppend = 2,
  kFinish = 3,
  kRelease = 4,
  kRequestStop = 5,
  kPut = 6,
  kClearState = 7,
  kDeleteThread = 8,
  kDeleteMessage = 9,
  kAppendMessages = 10,
  kRemoveMessages = 11,
  kSetRemoteTools = 12,
  kStoreMemory = 16,
  kUpdateMemory = 17,
  kDeleteMemory = 18,
  kRemoveMemories = 19,
  kPutVectors = 20,
  // Reading, executed on a snapshot.
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
  // Of an administrator.
  kVerify = 60,
  kBackup = 61,
  kListUnembedded = 62,
};

inline bool IsMutating(Operation operation) {
  return operation < Operation::kGetThread;
}

// A Begin and an Append that are sent again are known by the lease, and a read is done again.
inline bool IsAnswerKept(Operation operation) {
  return IsMutating(operation) && operation != Operation::kBegin && operation != Operation::kAppend;
}

struct Hello {
  std::string magic;
  uint32_t protocol_min = 0;
  uint32_t protocol_max = 0;
  std::string client;
  int64_t process = 0;
  uint64_t process_start = 0;
  std::vector<std::string> runs;  // held, or asked for by a Begin that is sent again
  bool answers_pings = false;     // an older client passes them over
};

struct Welcome {
  uint32_t protocol = 0;
  uint64_t epoch = 0;  // 0: an owner that cannot serve and refuses everything
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
  int64_t micros = 0;  // the client's time: rows carry it, so that a second application agrees
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
// Gives up a run whose Begin nobody waits for any more, leased or still queued.
struct ReleaseBody {
  std::string thread_id;
  std::string run_id;
};

// Writes a copy of the database under this name; see IsBackupName.
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

// Begins a frame: room for the length, then the array and the type. Finish with EndFrame.
std::string BeginFrame(FrameType type, size_t items_after_type);
// Writes the length. False when the frame is larger than kFrameBytesMax.
[[nodiscard]] bool EndFrame(std::string& frame);

// A frame that carries nothing but one struct, or nothing at all.
template <typename Body>
std::string MakeFrame(FrameType type, const Body& body) {
  std::string frame = BeginFrame(type, 1);
  pack::Packer packer(frame);
  pack::Pack(packer, body);
  return EndFrame(frame) ? frame : std::string();
}
std::string MakeFrame(FrameType type);

// A whole request; sequence and acknowledged-below are set later by NumberRequest, because they are
// only known under the client's lock. Empty when the frame is too large.
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
// Of a frame that MakeRequest made.
Operation OperationOf(std::string_view frame);

// `body` is an already packed value, or empty for none. A reply that would be too large becomes
// kResourceExhausted.
std::string MakeReply(uint64_t sequence, const Status& status, std::string_view body);

// The type of a frame's payload (length removed), leaving `unpacker` at the next item.
FrameType ReadFrameType(pack::Unpacker& unpacker);
// After ReadFrameType; the body follows.
RequestHeader ReadRequestHeader(pack::Unpacker& unpacker);
ReplyHeader ReadReplyHeader(pack::Unpacker& unpacker);

template <typename Body>
[[nodiscard]] bool ReadBody(pack::Unpacker& unpacker, Body& body) {
  pack::Unpack(unpacker, body);
  return unpacker.ok();
}

// Cuts a byte stream into frame payloads.
class FrameReader {
 public:
  // Appends received bytes.
  void Add(std::string_view bytes);
  // True and the payload of the next whole frame; false when more bytes are needed or broken().
  [[nodiscard]] bool Next(std::string& payload);
  // A length beyond kFrameBytesMax was announced: the peer is not one of ours.
  bool broken() const { return broken_; }

 private:
  std::string buffer_;
  size_t consumed_ = 0;
  bool broken_ = false;
};

}  // namespace agent_graph::state::wire
