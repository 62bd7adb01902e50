// The server's end of one WebSocket: what is due to the peer besides messages, and how it closes.
// Knows no transport: bytes go in, events and bytes to write come out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "websocket/parser.h"
#include "websocket/protocol.h"

namespace agent_graph::websocket {

struct EndpointEvent {
  enum class Kind : uint8_t {
    kNeedInput,
    kMessage,  // `opcode`, `payload`
    kSkipped,  // a message was passed over: an oversized one, or as SkipMessage wanted
    kAlive,    // the peer sent a control frame
    kEnding,   // the peer closed or broke a rule: no further message will come
  };
  Kind kind = Kind::kNeedInput;
  Opcode opcode = Opcode::kText;
  std::string payload = {};
};

// Of answers to pings that a peer who does not read makes us keep.
inline constexpr size_t kPongsBytesMax = 2048;

class Endpoint {
 public:
  explicit Endpoint(ParserLimits limits) : parser_(limits) {}

  // Takes bytes from the front of `input` up to the next event.
  EndpointEvent Next(std::span<char>& input);

  // Begins the closing handshake. Ignored when it has begun.
  void Close(uint16_t code, std::string_view reason);
  void Ping(std::string_view payload);
  // Nothing is kept of the message that is being read.
  void SkipMessage() { parser_.SkipMessage(); }

  // Pong and Ping frames due now, to be written between two messages. Of more pings than
  // kPongsBytesMax has room for only the newest are answered.
  std::string TakeControlFrames();
  // The Close frame, once. Nothing more may be written after it.
  std::string TakeCloseFrame();
  bool has_control_frames() const { return !pongs_.empty() || ping_; }
  bool has_close_frame() const { return close_pending_; }
  // The peer waits for no message any more: the Close frame goes before those still queued.
  bool close_is_urgent() const { return close_pending_ && peer_done_; }

  // Messages may still be written.
  bool open() const { return !close_begun_; }
  // Our Close was taken, and the peer's came or will not be waited for: end the transport.
  bool finished() const { return close_begun_ && !close_pending_ && peer_done_; }
  // Our Close was taken and the peer's has not come.
  bool waits_for_close() const { return close_begun_ && !close_pending_ && !peer_done_; }

  size_t buffered_bytes() const { return parser_.buffered_bytes(); }
  bool in_message() const { return parser_.in_message(); }
  bool in_binary_message() const { return parser_.in_binary_message(); }
  // For the log: the code that ended it, and whether the peer began. kAbnormal while there is none.
  uint16_t close_code() const { return close_code_; }
  bool closed_by_peer() const { return closed_by_peer_; }
  // Why it failed, for the log; empty otherwise.
  const std::string& fault() const { return fault_; }

 private:
  void TakePing(const ParserEvent& event);
  void TakeClose(ParserEvent& event);
  void Fail(ParserEvent& event);

  Parser parser_;
  std::string pongs_;  // frames that were not taken
  std::optional<std::string> ping_;
  bool close_begun_ = false;
  bool close_pending_ = false;  // begun, the frame was not taken
  bool peer_done_ = false;
  bool closed_by_peer_ = false;
  uint16_t sent_code_ = close_code::kNone;
  std::string sent_reason_;
  uint16_t close_code_ = close_code::kAbnormal;
  std::string fault_;
};

}  // namespace agent_graph::websocket
