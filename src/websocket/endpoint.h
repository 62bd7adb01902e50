// The server's end of a WebSocket: replies to control frames and the closing handshake. It uses no
// transport: the caller passes bytes in and gets events and bytes to write. Not thread-safe;
// nothing blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "websocket/parser.h"
#include "websocket/protocol.h"

namespace agent_graph::websocket {

// The next event of the input.
struct EndpointEvent {
  enum class Kind : uint8_t {
    kNeedInput,
    kMessage,  // `opcode`, `payload`
    kSkipped,  // a message was skipped: it was too large, or SkipMessage was called
    kAlive,    // the peer sent a control frame
    kEnding,   // the peer closed or violated the protocol: no further message follows
  };
  Kind kind = Kind::kNeedInput;
  Opcode opcode = Opcode::kText;
  std::string payload = {};
};

// Maximum bytes of pong frames that are kept for a peer that does not read.
inline constexpr size_t kPongsBytesMax = 2048;

// The closing handshake is a state machine:
//
//   open ─► closing ──► waiting ──► finished
//    └────► replying ─────────────────►┘      (closing ─► replying if the peer closes, too)
class Endpoint {
 public:
  explicit Endpoint(ParserLimits limits) : parser_(limits) {}

  // Consumes bytes from the front of `input` up to the next event. Changes the bytes: it unmasks
  // them in place.
  EndpointEvent Next(std::span<char>& input);

  // Starts the closing handshake. Ignored if it has started.
  void Close(uint16_t code, std::string_view reason);
  // Requests a ping frame with this payload (at most 125 bytes).
  void Ping(std::string_view payload);
  // Discards the message that is being received.
  void SkipMessage() { parser_.SkipMessage(); }

  // Takes the Pong and Ping frames that are due. Write them between two messages. If there are more
  // pings than fit into kPongsBytesMax, only the newest are answered.
  std::string TakeControlFrames();
  // Takes the Close frame, once. Write nothing after it.
  std::string TakeCloseFrame();
  bool has_control_frames() const { return !pongs_.empty() || ping_; }
  bool has_close_frame() const { return phase_ == Phase::kClosing || phase_ == Phase::kReplying; }
  // The peer expects no more messages: write the Close frame before the messages in the queue.
  bool close_is_urgent() const { return phase_ == Phase::kReplying; }

  // True while messages may be written.
  bool open() const { return phase_ == Phase::kOpen; }
  // Our Close was taken, and the peer's Close arrived or is not expected: close the transport.
  bool finished() const { return phase_ == Phase::kFinished; }
  // Our Close was taken, and the peer's Close is still expected.
  bool waits_for_close() const { return phase_ == Phase::kWaiting; }

  size_t buffered_bytes() const { return parser_.buffered_bytes(); }
  bool in_message() const { return parser_.in_message(); }
  bool in_binary_message() const { return parser_.in_binary_message(); }
  // For the log: the close code, and whether the peer closed first. kAbnormal while there is no
  // code.
  uint16_t close_code() const { return close_code_; }
  bool closed_by_peer() const { return closed_by_peer_; }
  // For the log: the protocol error; empty if there is none.
  const std::string& fault() const { return fault_; }

 private:
  enum class Phase : uint8_t {
    kOpen,      // messages are exchanged
    kClosing,   // our Close frame was not taken yet
    kReplying,  // the same, and nothing more comes from the peer
    kWaiting,   // our Close frame was taken; the peer's is expected
    kFinished,  // our Close frame was taken, and nothing more comes from the peer
  };

  void Enter(Phase next);
  void EndInput();
  void TakePing(const ParserEvent& event);
  void TakeClose(ParserEvent& event);
  void Fail(ParserEvent& event);

  Parser parser_;
  std::string pongs_;  // Pong frames that were not taken
  std::optional<std::string> ping_;
  Phase phase_ = Phase::kOpen;
  bool closed_by_peer_ = false;
  uint16_t sent_code_ = close_code::kNone;
  std::string sent_reason_;
  uint16_t close_code_ = close_code::kAbnormal;
  std::string fault_;
};

}  // namespace agent_graph::websocket
