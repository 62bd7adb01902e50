// Compares the parser with wslay, an independent implementation: the same bytes must give the same
// messages and the same result for frames that break a rule.
#include <gtest/gtest.h>
#include <wslay/wslay.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "client_frames.h"
#include "websocket/parser.h"

namespace agent_graph::websocket {
namespace {

constexpr uint64_t kMessageMax = 4096;

struct Verdict {
  std::vector<std::string> messages;  // data messages and pings before the end
  int end = 0;                        // 0: wants more; 1: the peer's Close; else a code
  bool operator==(const Verdict&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  return out << testing::PrintToString(verdict.messages) << " end " << verdict.end;
}

std::string Label(int opcode, std::string_view payload) {
  return std::to_string(opcode) + ":" + std::string(payload);
}

class Wslay {
 public:
  Wslay() {
    wslay_event_callbacks callbacks{};
    callbacks.recv_callback = Receive;
    callbacks.send_callback = Send;
    callbacks.on_msg_recv_callback = OnMessage;
    wslay_event_context_server_init(&context_, &callbacks, this);
    wslay_event_config_set_max_recv_msg_length(context_, kMessageMax);
  }
  ~Wslay() { wslay_event_context_free(context_); }

  Verdict Judge(std::string bytes) {
    input_ = std::move(bytes);
    while (position_ < input_.size() && wslay_event_get_read_enabled(context_)) {
      if (wslay_event_recv(context_) != 0) break;
    }
    if (verdict_.end == 0 && wslay_event_get_close_sent(context_) == 0 &&
        wslay_event_want_write(context_)) {
      wslay_event_send(context_);
    }
    // It has sent a Close without one from the peer, so it has found an error.
    if (verdict_.end == 0 && wslay_event_get_close_sent(context_)) {
      verdict_.end = wslay_event_get_status_code_sent(context_);
      // Its frame layer, which detects errors in headers, closes without a code.
      if (verdict_.end == close_code::kNone) verdict_.end = close_code::kProtocolError;
    }
    return verdict_;
  }

 private:
  static ssize_t Receive(wslay_event_context_ptr context, uint8_t* data, size_t size, int,
                         void* user) {
    auto* self = static_cast<Wslay*>(user);
    size_t left = self->input_.size() - self->position_;
    if (left == 0) {
      wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    size = std::min(size, left);
    std::memcpy(data, self->input_.data() + self->position_, size);
    self->position_ += size;
    return static_cast<ssize_t>(size);
  }
  static ssize_t Send(wslay_event_context_ptr, const uint8_t*, size_t size, int, void*) {
    return static_cast<ssize_t>(size);
  }
  static void OnMessage(wslay_event_context_ptr, const wslay_event_on_msg_recv_arg* message,
                        void* user) {
    auto* self = static_cast<Wslay*>(user);
    if (message->opcode == WSLAY_CONNECTION_CLOSE) {
      self->verdict_.end = 1;
      return;
    }
    std::string_view payload(reinterpret_cast<const char*>(message->msg), message->msg_length);
    self->verdict_.messages.push_back(Label(message->opcode, payload));
  }

  wslay_event_context_ptr context_ = nullptr;
  std::string input_;
  size_t position_ = 0;
  Verdict verdict_;
};

Verdict JudgeOurselves(std::string bytes) {
  Parser parser({.frame_bytes_max = kMessageMax, .message_bytes_max = kMessageMax});
  Verdict verdict;
  std::span<char> input(bytes);
  for (;;) {
    ParserEvent event = parser.Next(input);
    switch (event.kind) {
      case ParserEvent::Kind::kNeedInput:
        return verdict;
      case ParserEvent::Kind::kClose:
        verdict.end = 1;
        return verdict;
      case ParserEvent::Kind::kFailed:
        verdict.end = event.code;
        return verdict;
      default:
        verdict.messages.push_back(Label(static_cast<int>(event.opcode), event.payload));
    }
  }
}

// Mostly valid sequences, so that errors occur late.
std::string RandomSession(std::mt19937& random) {
  std::string bytes;
  bool open = false;
  int frames = 1 + static_cast<int>(random() % 12);
  for (int i = 0; i < frames; ++i) {
    ClientFrame frame;
    frame.key = static_cast<uint32_t>(random());
    unsigned kind = random() % 10;
    size_t size = random() % 3 == 0 ? random() % 1500 : random() % 130;
    if (kind < 6) {
      frame.opcode = static_cast<uint8_t>(open ? 0 : 1 + random() % 2);
      frame.final = random() % 2 == 0;
      open = !frame.final;
    } else if (kind < 9) {
      frame.opcode = static_cast<uint8_t>(9 + random() % 2);
      size %= 126;
    } else {
      frame.opcode = 8;
      size = 0;
      auto code = static_cast<uint16_t>(random() % 5000);
      // These codes were registered after wslay was written.
      if (code >= 1012 && code <= 1014) code = 1000;
      if (random() % 2 == 0) frame.payload = ClosePayload(code);
    }
    for (size_t k = 0; k < size; ++k) {
      frame.payload.push_back(static_cast<char>('a' + random() % 26));
    }
    if (random() % 40 == 0) frame.payload += "\xC3\xA9\xE2\x82\xAC";
    // Not in a Close: for a frame with two errors either code is correct.
    if (frame.opcode != 8 && random() % 60 == 0) frame.payload += '\xED';
    if (random() % 60 == 0) frame.opcode = static_cast<uint8_t>(random() % 16);
    if (random() % 60 == 0) frame.reserved = static_cast<uint8_t>(random() % 8);
    if (random() % 60 == 0) frame.masked = false;
    if (random() % 60 == 0) frame.claimed_length = random() % 100'000;
    bytes += Encode(frame);
  }
  return bytes;
}

TEST(BesideWslay, TheVerdictIsTheSame) {
  std::mt19937 random(20240607);
  int faults = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = RandomSession(random);
    Verdict ours = JudgeOurselves(bytes);
    Verdict theirs = Wslay().Judge(bytes);
    // wslay reads a complete header before it detects an error at its beginning.
    if (ours.end > 1 && theirs.end == 0) theirs = Wslay().Judge(bytes + std::string(16, '\0'));
    faults += ours.end > 1 ? 1 : 0;
    ASSERT_EQ(ours, theirs) << "round " << round << ' ' << testing::PrintToString(bytes);
  }
  EXPECT_GT(faults, 1000);
}

}  // namespace
}  // namespace agent_graph::websocket
