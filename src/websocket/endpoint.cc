#include "websocket/endpoint.h"

#include <utility>

#include "base/check.h"

namespace agent_graph::websocket {

EndpointEvent Endpoint::Next(std::span<char>& input) {
  for (;;) {
    ParserEvent event = parser_.Next(input);
    switch (event.kind) {
      case ParserEvent::Kind::kNeedInput:
        return {};
      case ParserEvent::Kind::kMessage:
        if (!open()) break;  // not delivered: the WebSocket is closing
        return {EndpointEvent::Kind::kMessage, event.opcode, std::move(event.payload)};
      case ParserEvent::Kind::kSkipped:
        if (!open()) break;
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
  if (!open()) return;
  std::string pong;
  AppendFrame(pong, Opcode::kPong, event.payload);
  if (pongs_.size() + pong.size() > kPongsBytesMax) pongs_.clear();
  pongs_ += pong;
}

void Endpoint::Enter(Phase next) {
  const bool legal = [&] {
    switch (phase_) {
      case Phase::kOpen:
        return next == Phase::kClosing;
      case Phase::kClosing:
        return next == Phase::kReplying || next == Phase::kWaiting;
      case Phase::kReplying:
      case Phase::kWaiting:
        return next == Phase::kFinished;
      case Phase::kFinished:
        return false;
    }
    return false;
  }();
  AG_CHECK(legal, "the closing handshake follows the picture in endpoint.h");
  phase_ = next;
}

// The peer sends no more frames.
void Endpoint::EndInput() {
  Enter(phase_ == Phase::kWaiting ? Phase::kFinished : Phase::kReplying);
}

void Endpoint::TakeClose(ParserEvent& event) {
  if (open()) {
    closed_by_peer_ = true;
    // Echo the peer's code. A Close without a code counts as a normal end.
    Close(event.code == close_code::kNone ? close_code::kNormal : event.code, "");
    close_code_ = event.code;
  }
  EndInput();
}

void Endpoint::Fail(ParserEvent& event) {
  fault_ = std::move(event.payload);
  Close(event.code, fault_);
  EndInput();  // input after an error is ignored
}

void Endpoint::Close(uint16_t code, std::string_view reason) {
  if (!open()) return;
  Enter(Phase::kClosing);
  parser_.DropMessages();
  sent_code_ = code;
  sent_reason_ = reason;
  close_code_ = code;
}

void Endpoint::Ping(std::string_view payload) {
  if (open()) ping_ = payload.substr(0, kControlPayloadMax);
}

std::string Endpoint::TakeControlFrames() {
  std::string frames = std::exchange(pongs_, {});
  if (auto ping = std::exchange(ping_, std::nullopt)) AppendFrame(frames, Opcode::kPing, *ping);
  return frames;
}

std::string Endpoint::TakeCloseFrame() {
  std::string frame;
  if (!has_close_frame()) return frame;
  AppendCloseFrame(frame, sent_code_, sent_reason_);
  Enter(phase_ == Phase::kReplying ? Phase::kFinished : Phase::kWaiting);
  return frame;
}

}  // namespace agent_graph::websocket
