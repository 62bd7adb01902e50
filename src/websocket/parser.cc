#include "websocket/parser.h"

#include <algorithm>
#include <utility>

#include "base/free_memory.h"

namespace agent_graph::websocket {
namespace {

constexpr uint8_t kFinalBit = 0x80;
constexpr uint8_t kReservedBits = 0x70;
constexpr uint8_t kOpcodeBits = 0x0F;
constexpr uint8_t kMaskBit = 0x80;
constexpr uint8_t kLengthBits = 0x7F;

bool IsKnown(uint8_t opcode) {
  return opcode <= 0x2 || (opcode >= 0x8 && opcode <= 0xA);
}

size_t ExtendedLengthBytes(uint8_t length) {
  if (length == kLength16) return 2;
  if (length == kLength64) return 8;
  return 0;
}

}  // namespace

// The functions below return true if they have set `event`.

ParserEvent Parser::Next(std::span<char>& input) {
  ParserEvent event;
  for (;;) {
    switch (state_) {
      case State::kDone:
        input = {};
        return event;
      case State::kHeader: {
        if (!TakeHeader(input)) return event;
        if (header_size_ == 2) {
          if (CheckFirstBytes(event)) return event;
          header_needed_ += ExtendedLengthBytes(header_[1] & kLengthBits) + key_.size();
          break;
        }
        if (BeginFrame(event)) return event;
        break;
      }
      case State::kPayload:
        if (TakePayload(input, event)) return event;
        if (taken_ < length_) return event;
        state_ = State::kHeader;
        if (EndFrame(event)) return event;
        break;
    }
  }
}

// Returns true when the next part of the header is complete.
bool Parser::TakeHeader(std::span<char>& input) {
  size_t taken = std::min(header_needed_ - header_size_, input.size());
  std::copy_n(input.begin(), taken, header_.begin() + header_size_);
  header_size_ += taken;
  input = input.subspan(taken);
  return header_size_ == header_needed_;
}

void Parser::SkipMessage() {
  if (message_state_ == MessageState::kStoring) message_state_ = MessageState::kSkipping;
  FreeMemory(message_);
}

void Parser::DropMessages() {
  dropping_ = true;
  SkipMessage();
}

bool Parser::CheckFirstBytes(ParserEvent& event) {
  uint8_t opcode = header_[0] & kOpcodeBits;
  if ((header_[0] & kReservedBits) != 0) {
    return Fail(event, close_code::kProtocolError, "reserved bits are set");
  }
  if (!IsKnown(opcode)) return Fail(event, close_code::kProtocolError, "unknown opcode");
  opcode_ = Opcode{opcode};
  final_ = (header_[0] & kFinalBit) != 0;
  if ((header_[1] & kMaskBit) == 0) {
    return Fail(event, close_code::kProtocolError, "the frame is not masked");
  }
  if (IsControl(opcode_)) {
    if (!final_) return Fail(event, close_code::kProtocolError, "a control frame is fragmented");
    if ((header_[1] & kLengthBits) > kControlPayloadMax) {
      return Fail(event, close_code::kProtocolError, "a control frame is too long");
    }
    return false;
  }
  if (opcode_ == Opcode::kContinuation && message_state_ == MessageState::kNone) {
    return Fail(event, close_code::kProtocolError,
                "a continuation frame does not belong to a message");
  }
  if (opcode_ != Opcode::kContinuation && message_state_ != MessageState::kNone) {
    return Fail(event, close_code::kProtocolError, "the previous message is not finished");
  }
  return false;
}

uint64_t Parser::PayloadLength() const {
  uint8_t length = header_[1] & kLengthBits;
  size_t extended = ExtendedLengthBytes(length);
  if (extended == 0) return length;
  uint64_t value = 0;
  for (size_t i = 0; i < extended; ++i) value = value << 8 | header_[2 + i];
  return value;
}

bool Parser::BeginFrame(ParserEvent& event) {
  length_ = PayloadLength();
  taken_ = 0;
  std::copy_n(header_.begin() + (header_size_ - key_.size()), key_.size(), key_.begin());
  uint8_t marker = header_[1] & kLengthBits;
  header_size_ = 0;
  header_needed_ = 2;
  if (marker == kLength64 && length_ >> 63 != 0) {
    return Fail(event, close_code::kProtocolError, "the length is negative");
  }
  bool minimal = marker < kLength16 || (marker == kLength16 && length_ >= kLength16) ||
                 (marker == kLength64 && length_ > 0xFFFF);
  if (!minimal) return Fail(event, close_code::kProtocolError, "the length is not minimal");
  state_ = State::kPayload;
  control_.clear();
  return !IsControl(opcode_) && BeginDataFrame(event);
}

bool Parser::BeginDataFrame(ParserEvent& event) {
  if (message_state_ == MessageState::kNone) {
    message_state_ = dropping_ ? MessageState::kSkipping : MessageState::kStoring;
    message_opcode_ = opcode_;
    utf8_.Reset();
  }
  if (message_state_ == MessageState::kSkipping) return false;
  // No overflow: message_ is never larger than the limit.
  if (length_ <= limits_.frame_bytes_max && length_ <= limits_.message_bytes_max &&
      message_.size() <= limits_.message_bytes_max - length_) {
    return false;
  }
  if (limits_.oversize == Oversize::kFail) {
    return Fail(event, close_code::kTooBig, "the message is too big");
  }
  SkipMessage();
  return false;
}

bool Parser::TakePayload(std::span<char>& input, ParserEvent& event) {
  auto size = static_cast<size_t>(std::min<uint64_t>(length_ - taken_, input.size()));
  std::span<char> piece = input.first(size);
  input = input.subspan(size);
  bool control = IsControl(opcode_);
  if (message_state_ == MessageState::kSkipping && !control) {
    taken_ += size;
    return false;
  }
  Unmask(piece, key_, taken_);
  taken_ += size;
  std::string_view text(piece.data(), piece.size());
  if (control) {
    control_.append(text);
    return false;
  }
  if (message_opcode_ == Opcode::kText && !utf8_.Feed(text)) {
    return Fail(event, close_code::kInvalidPayload, "the text is not UTF-8");
  }
  message_.append(text);
  return false;
}

bool Parser::EndFrame(ParserEvent& event) {
  switch (opcode_) {
    case Opcode::kPing:
    case Opcode::kPong:
      event.kind = opcode_ == Opcode::kPing ? ParserEvent::Kind::kPing : ParserEvent::Kind::kPong;
      event.opcode = opcode_;
      event.payload = std::move(control_);
      control_.clear();
      return true;
    case Opcode::kClose:
      return EndClose(event);
    case Opcode::kContinuation:
    case Opcode::kText:
    case Opcode::kBinary:
      return final_ && EndMessage(event);
  }
  return false;
}

bool Parser::EndMessage(ParserEvent& event) {
  if (std::exchange(message_state_, MessageState::kNone) == MessageState::kSkipping) {
    event.kind = ParserEvent::Kind::kSkipped;
    event.opcode = message_opcode_;
    return true;
  }
  if (message_opcode_ == Opcode::kText && !utf8_.complete()) {
    return Fail(event, close_code::kInvalidPayload, "the text ends within a character");
  }
  event.kind = ParserEvent::Kind::kMessage;
  event.opcode = message_opcode_;
  event.payload = std::exchange(message_, {});
  return true;
}

bool Parser::EndClose(ParserEvent& event) {
  if (control_.size() == 1) {
    return Fail(event, close_code::kProtocolError, "the close code is incomplete");
  }
  uint16_t code = close_code::kNone;
  if (!control_.empty()) {
    code = static_cast<uint16_t>(static_cast<uint8_t>(control_[0]) << 8 |
                                 static_cast<uint8_t>(control_[1]));
    if (!IsSendableCloseCode(code)) {
      return Fail(event, close_code::kProtocolError, "the close code is not valid");
    }
    control_.erase(0, 2);
    if (!IsUtf8(control_)) {
      return Fail(event, close_code::kInvalidPayload, "the close reason is not UTF-8");
    }
  }
  event.kind = ParserEvent::Kind::kClose;
  event.opcode = Opcode::kClose;
  event.code = code;
  event.payload = std::move(control_);
  state_ = State::kDone;
  FreeMemory(message_);
  return true;
}

bool Parser::Fail(ParserEvent& event, uint16_t code, std::string_view why) {
  event.kind = ParserEvent::Kind::kFailed;
  event.code = code;
  event.payload = why;
  state_ = State::kDone;
  FreeMemory(message_);
  return true;
}

}  // namespace agent_graph::websocket
