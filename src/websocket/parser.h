// Parses the frames of a client from a stream of bytes that may be cut anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "websocket/mask.h"
#include "websocket/protocol.h"

namespace agent_graph::websocket {

enum class Oversize : uint8_t {
  kFail,  // the connection fails with 1009
  kSkip,  // the message is skipped without being stored, and parsing continues
};

// Limits in bytes.
struct ParserLimits {
  uint64_t frame_bytes_max = 1024 * 1024;
  uint64_t message_bytes_max = 1024 * 1024;  // sum of a message's fragments
  Oversize oversize = Oversize::kFail;
};

// The next event of the input.
struct ParserEvent {
  enum class Kind : uint8_t {
    kNeedInput,  // more bytes are needed
    kMessage,    // a complete message: `opcode` (text or binary), `payload`
    kSkipped,    // the end of a message that was skipped
    kPing,       // `payload`
    kPong,       // `payload`
    kClose,      // `code` (kNone when the frame has none), `payload` is the reason
    kFailed,     // the peer violated the protocol: close with `code`; `payload` is the reason
  };
  Kind kind = Kind::kNeedInput;
  Opcode opcode = Opcode::kText;
  uint16_t code = 0;
  std::string payload = {};
};

// Stores at most one message, and only the bytes that have arrived: a length that the peer claims
// is checked but not allocated. Each rule is checked as soon as the offending byte has arrived. Not
// thread-safe.
class Parser {
 public:
  explicit Parser(ParserLimits limits) : limits_(limits) {}

  // Consumes bytes from the front of `input` up to the next event, and unmasks them in place. After
  // kClose or kFailed it discards all input.
  ParserEvent Next(std::span<char>& input);

  // Discards the current message and reports it as kSkipped, like one that is too large.
  void SkipMessage();
  // Discards all messages from now on, including the current one. Frames are still checked.
  void DropMessages();

  // True if a message or frame is incomplete.
  bool in_message() const {
    return message_state_ != MessageState::kNone || state_ != State::kHeader || header_size_ > 0;
  }
  bool in_binary_message() const {
    return message_state_ != MessageState::kNone && message_opcode_ == Opcode::kBinary;
  }
  // Bytes of an incomplete message.
  size_t buffered_bytes() const { return message_.size(); }

 private:
  enum class State : uint8_t { kHeader, kPayload, kDone };
  enum class MessageState : uint8_t {
    kNone,      // the next data frame begins a message
    kStoring,   // the message is stored
    kSkipping,  // the rest of the message is discarded
  };

  bool TakeHeader(std::span<char>& input);
  bool TakePayload(std::span<char>& input, ParserEvent& event);
  bool CheckFirstBytes(ParserEvent& event);
  bool BeginFrame(ParserEvent& event);
  bool BeginDataFrame(ParserEvent& event);
  bool EndFrame(ParserEvent& event);
  bool EndMessage(ParserEvent& event);
  bool EndClose(ParserEvent& event);
  bool Fail(ParserEvent& event, uint16_t code, std::string_view why);
  uint64_t PayloadLength() const;

  const ParserLimits limits_;
  State state_ = State::kHeader;

  std::array<uint8_t, 14> header_{};
  size_t header_size_ = 0;
  size_t header_needed_ = 2;

  // State of the frame whose payload is being read.
  Opcode opcode_ = Opcode::kContinuation;
  bool final_ = false;
  MaskingKey key_{};
  uint64_t length_ = 0;
  uint64_t taken_ = 0;
  std::string control_;

  // State of the message that the frame belongs to.
  MessageState message_state_ = MessageState::kNone;
  bool dropping_ = false;  // every message is skipped
  Opcode message_opcode_ = Opcode::kText;
  std::string message_;
  Utf8Validator utf8_;
};

}  // namespace agent_graph::websocket
