// The frames of a client, out of a stream of bytes cut anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "websocket/mask.h"
#include "websocket/protocol.h"
#include "websocket/utf8.h"

namespace agent_graph::websocket {

enum class Oversize : uint8_t {
  kFail,  // the connection fails with 1009
  kSkip,  // the message is passed over without being stored, and the next one is read
};

struct ParserLimits {
  uint64_t frame_bytes_max = 1024 * 1024;
  uint64_t message_bytes_max = 1024 * 1024;  // the sum of a message's fragments
  Oversize oversize = Oversize::kFail;
};

struct ParserEvent {
  enum class Kind : uint8_t {
    kNeedInput,  // nothing until there are more bytes
    kMessage,    // a whole message: `opcode` (text or binary), `payload`
    kSkipped,    // a message over a limit has passed
    kPing,       // `payload`
    kPong,       // `payload`
    kClose,      // `code` (kNone when the frame has none), `payload` is the reason
    kFailed,     // the peer broke a rule: close with `code`; `payload` says which
  };
  Kind kind = Kind::kNeedInput;
  Opcode opcode = Opcode::kText;
  uint16_t code = 0;
  std::string payload = {};
};

// Holds one message at most, and of that only what has arrived: lengths that a peer claims are
// checked and never allocated. Rules are enforced as soon as the offending byte is there.
class Parser {
 public:
  explicit Parser(ParserLimits limits) : limits_(limits) {}

  // Takes bytes from the front of `input`, unmasking them there, up to the next event. After
  // kClose or kFailed it swallows everything.
  ParserEvent Next(std::span<char>& input);

  // The message that is open is passed over and told as kSkipped, like one over a limit.
  void SkipMessage();
  // Messages are read over from now on, the one that is open included; frames keep their rules.
  void DropMessages();

  // A message or frame is open: the bytes so far are not all of it.
  bool in_message() const { return in_message_ || state_ != State::kHeader || header_size_ > 0; }
  bool in_binary_message() const { return in_message_ && message_opcode_ == Opcode::kBinary; }
  // The part of a message that waits for its rest.
  size_t buffered_bytes() const { return message_.size(); }

 private:
  enum class State : uint8_t { kHeader, kPayload, kDone };

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

  // The frame whose payload is being read.
  Opcode opcode_ = Opcode::kContinuation;
  bool final_ = false;
  MaskingKey key_{};
  uint64_t length_ = 0;
  uint64_t taken_ = 0;
  std::string control_;

  // The message its data belongs to.
  bool in_message_ = false;
  bool skipping_ = false;
  bool dropping_ = false;  // every message
  Opcode message_opcode_ = Opcode::kText;
  std::string message_;
  Utf8Validator utf8_;
};

}  // namespace agent_graph::websocket
