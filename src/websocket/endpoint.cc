#include "websocket/endpoint.h"

#include <utility>

namespace agent_graph::websocket {

EndpointEvent Endpoint::Next(std::span<char>& input) {
  for (;;) {
    ParserEvent event = parser_.Next(input);
    switch (event.kind) {
      case ParserEvent::Kind::kNeedInput:
        return {};
      case ParserEvent::Kind::kMessage:
        if (close_begun_) break;  // not delivered: the WebSocket is closing
        return {EndpointEvent::Kind::kMessage, event.opcode, std::move(event.payload)};
      case ParserEvent::Kind::kSkipped:
        if (close_begun_) break;
        return {EndpointEvent::Kind::kSkipped, event.opcode};
      case ParserEvent::Kind::kPing:
        TakePing(event);
        return {EndpointEvent::Kind::kAlive};
      case ParserEvent::Kind::kPong:
        return {EndpointEvent::Kind::kAlive};
      case ParserEvent::Kind::kClose:
        TakeClose(event);
        return {EndpointEvent::Kind::kEnding};
      case ParserEvent::Kind::kFailed:
        Fail(event);
        return {EndpointEvent::Kind::kEnding};
    }
  }
}

void Endpoint::TakePing(const ParserEvent& event) {
  if (close_begun_) return;
  std::string pong;
  AppendFrame(pong, Opcode::kPong, event.payload);
  if (pongs_.size() + pong.size() > kPongsBytesMax) pongs_.clear();
  pongs_ += pong;
}

void Endpoint::TakeClose(ParserEvent& event) {
  peer_done_ = true;
  if (close_begun_) return;  // the reply to our Close
  closed_by_peer_ = true;
  // Echo the peer's code. A Close without a code counts as a normal end.
  Close(event.code == close_code::kNone ? close_code::kNormal : event.code, "");
  close_code_ = event.code;
}

void Endpoint::Fail(ParserEvent& event) {
  peer_done_ = true;  // input after an error is ignored
  fault_ = std::move(event.payload);
  Close(event.code, fault_);
}

void Endpoint::Close(uint16_t code, std::string_view reason) {
  if (std::exchange(close_begun_, true)) return;
  close_pending_ = true;
  parser_.DropMessages();
  sent_code_ = code;
  sent_reason_ = reason;
  close_code_ = code;
}

void Endpoint::Ping(std::string_view payload) {
  if (!close_begun_) ping_ = payload.substr(0, kControlPayloadMax);
}

std::string Endpoint::TakeControlFrames() {
  std::string frames = std::exchange(pongs_, {});
  if (auto ping = std::exchange(ping_, std::nullopt)) AppendFrame(frames, Opcode::kPing, *ping);
  return frames;
}

std::string Endpoint::TakeCloseFrame() {
  std::string frame;
  if (std::exchange(close_pending_, false)) AppendCloseFrame(frame, sent_code_, sent_reason_);
  return frame;
}

}  // namespace agent_graph::websocket
