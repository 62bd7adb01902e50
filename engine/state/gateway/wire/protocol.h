// Protocol on the state server's Unix socket.
//
// A frame is a four-byte little-endian length and one MessagePack array whose first item is the
// frame type:
//
//   client → server     Hello    client id, process, protocol range, runs that it holds
//                       Request  sequence number, acknowledged-below, operation, time, body
//                       Bye      the client disconnects for good
//                       Pong     answers a Ping
//                       RefuseGrants  the client takes no further accepted runs
//   candidate → server  StepDown its generation: a server of an older one hands over
//   server → client     Welcome  protocol, server epoch
//                       Refused  the reason why no Welcome follows
//                       Reply    sequence number, status, body
//                       Queued   sequence number of a BeginRun that waits for its busy thread
//                       GoAway   hand-over: reconnect and resend what was not answered
//                       CancelRun  thread and run: end this run of the client at once
//                       ThreadDeleted  thread: drop everything cached for it
//                       GrantedRun  the client got the lease of an accepted run
//                       RunWatched  other clients watch a run that this one executes
//                       Ping     asks a client that holds leases whether its process still runs
//
// Requests, their numbers and the kept replies: see state/calls/executor.h. Frames of unknown type
// are skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/calls/executor.h"
#include "state/limits.h"
#include "state/pack/fields.h"

namespace agent_graph::state::wire {

inline constexpr uint32_t kProtocolMin = 1;
inline constexpr uint32_t kProtocolMax = 1;
inline constexpr size_t kFrameBytesMax = kReplyBytesMax;
inline constexpr size_t kFrameHeaderBytes = 4;
// Maximum number of unanswered operations of a client, which refuses further calls.
inline constexpr size_t kOperationsInFlightMax = 32'768;
// Size of both ends' buffers for one read.
inline constexpr size_t kReceiveBytes = 64 * 1024;

enum class FrameType : uint8_t {
  kHello = 1,
  kWelcome = 2,
  kRefused = 3,
  kRequest = 4,
  kReply = 5,
  kGoAway = 6,
  kBye = 7,
  kStepDown = 8,
  kQueued = 9,
  kCancelRun = 10,
  kThreadDeleted = 11,
  kPing = 12,
  kPong = 13,
  kGrantedRun = 14,
  kRefuseGrants = 15,
  kRunWatched = 16,
};

struct Hello {
  std::string magic;
  uint32_t protocol_min = 0;
  uint32_t protocol_max = 0;
  std::string client;
  int64_t process = 0;
  uint64_t process_start = 0;
  std::vector<std::string> runs;                  // ids of `held`, for an older server
  bool answers_pings = false;                     // older clients ignore Ping
  bool takes_runs = false;                        // older clients take no accepted runs
  std::optional<std::vector<HeldRun>> held = {};  // nullopt: an older client, which names `runs`
};
template <pack::SameAs<Hello> T>
auto Fields(T& s) {
  return std::tie(s.magic, s.protocol_min, s.protocol_max, s.client, s.process, s.process_start,
                  s.runs, s.answers_pings, s.takes_runs, s.held);
}

struct Welcome {
  uint32_t protocol = 0;
  uint64_t epoch = 0;  // 0: a server that cannot serve and refuses every operation
};
template <pack::SameAs<Welcome> T>
auto Fields(T& s) {
  return std::tie(s.protocol, s.epoch);
}

struct Refused {
  StatusCode code = StatusCode::kUnavailable;
  std::string message;
};
template <pack::SameAs<Refused> T>
auto Fields(T& s) {
  return std::tie(s.code, s.message);
}

struct StepDown {
  uint64_t generation = 0;
};
template <pack::SameAs<StepDown> T>
auto Fields(T& s) {
  return std::tie(s.generation);
}

struct ReplyHeader {
  uint64_t sequence = 0;
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::string detail;
};

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

// Begins a request; the packed body follows, then EndFrame. Sequence and acknowledged-below are
// known only under the client's lock; NumberRequest sets them.
std::string BeginRequest(Operation operation, int64_t micros);
void NumberRequest(std::string& frame, uint64_t sequence, uint64_t acknowledged_below);
// Returns the operation of a frame that BeginRequest began.
Operation OperationOf(std::string_view frame);

// `body` is a packed value; empty: no body. A reply that would exceed kFrameBytesMax becomes
// kResourceExhausted.
std::string MakeReply(uint64_t sequence, const Status& status, std::string_view body);

// Makes the frame of a message; `protocol` is the version that its Welcome names.
std::string MakeMessage(const ClientMessage& message, uint32_t protocol);

// Returns the type of a frame's payload (without the length); `unpacker` is left at the next item.
FrameType ReadFrameType(pack::Unpacker& unpacker);
// Call after ReadFrameType; the body follows.
RequestHeader ReadRequestHeader(pack::Unpacker& unpacker);
ReplyHeader ReadReplyHeader(pack::Unpacker& unpacker);

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
