#include "websocket/protocol.h"

#include "base/utf8.h"

namespace agent_graph::websocket {
namespace {

constexpr uint8_t kFinal = 0x80;
constexpr size_t kHeaderMax = 10;  // the header of an unmasked frame

void AppendBigEndian(std::string& out, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

bool IsContinuationByte(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

bool IsSendableCloseCode(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

void AppendFrame(std::string& out, Opcode opcode, std::string_view payload) {
  out.push_back(static_cast<char>(kFinal | static_cast<uint8_t>(opcode)));
  if (payload.size() < kLength16) {
    out.push_back(static_cast<char>(payload.size()));
  } else if (payload.size() <= 0xFFFF) {
    out.push_back(static_cast<char>(kLength16));
    AppendBigEndian(out, payload.size(), 2);
  } else {
    out.push_back(static_cast<char>(kLength64));
    AppendBigEndian(out, payload.size(), 8);
  }
  out.append(payload);
}

std::string MakeFrame(Opcode opcode, std::string_view payload) {
  std::string frame;
  frame.reserve(payload.size() + kHeaderMax);
  AppendFrame(frame, opcode, payload);
  return frame;
}

void AppendCloseFrame(std::string& out, uint16_t code, std::string_view reason) {
  std::string payload;
  if (code != close_code::kNone) {
    if (!IsUtf8(reason)) reason = {};
    if (reason.size() > kCloseReasonMax) {
      size_t end = kCloseReasonMax;
      while (end > 0 && IsContinuationByte(reason[end])) --end;
      reason = reason.substr(0, end);
    }
    AppendBigEndian(payload, code, 2);
    payload.append(reason);
  }
  AppendFrame(out, Opcode::kClose, payload);
}

}  // namespace agent_graph::websocket
