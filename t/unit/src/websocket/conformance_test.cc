// Case tables in the style of the well-known conformance suite, groups 1 to 7, against an echo
// endpoint. Each case runs at once, byte by byte, and with frames cut at unusual places.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client_frames.h"
#include "websocket/endpoint.h"

namespace agent_graph::websocket {
namespace {

using Frames = std::vector<ServerFrame>;

constexpr uint8_t kTextFrame = 0x81;
constexpr uint8_t kBinaryFrame = 0x82;
constexpr uint8_t kCloseFrame = 0x88;
constexpr uint8_t kPongFrame = 0x8A;

struct Echo {
  Endpoint endpoint{{.frame_bytes_max = 16 << 20, .message_bytes_max = 16 << 20}};
  std::string output;

  void Feed(std::string piece) {
    std::span<char> input(piece);
    for (;;) {
      EndpointEvent event = endpoint.Next(input);
      if (event.kind == EndpointEvent::Kind::kMessage) {
        AppendFrame(output, event.opcode, event.payload);
      }
      output += endpoint.TakeControlFrames() + endpoint.TakeCloseFrame();
      if (event.kind == EndpointEvent::Kind::kNeedInput) return;
    }
  }
};

struct Outcome {
  Frames frames;  // a Close has only its code as payload
  bool finished;
};

Outcome Run(const std::string& bytes, size_t piece) {
  Echo echo;
  for (size_t i = 0; i < bytes.size(); i += piece) echo.Feed(bytes.substr(i, piece));
  std::optional<Frames> frames = DecodeServerFrames(echo.output);
  EXPECT_TRUE(frames.has_value());
  if (!frames) return {};
  for (ServerFrame& frame : *frames) {
    if (frame.first_byte == kCloseFrame && frame.payload.size() > 2) frame.payload.resize(2);
  }
  return {*std::move(frames), echo.endpoint.finished()};
}

struct Case {
  std::string name;
  std::string input;
  Frames expected;
  bool finished = true;
};

std::string Text(std::string payload) {
  return Encode({.opcode = 1, .payload = std::move(payload)});
}
std::string Binary(std::string payload) {
  return Encode({.opcode = 2, .payload = std::move(payload)});
}
std::string Ping(std::string payload) {
  return Encode({.opcode = 9, .payload = std::move(payload)});
}
std::string Pong(std::string payload) {
  return Encode({.opcode = 10, .payload = std::move(payload)});
}
std::string Part(uint8_t opcode, std::string payload, bool final) {
  return Encode({.opcode = opcode, .payload = std::move(payload), .final = final});
}
std::string Close() {
  return Encode({.opcode = 8, .payload = ClosePayload(1000)});
}
ServerFrame Closed(uint16_t code) {
  return {kCloseFrame, ClosePayload(code)};
}

void Check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    for (size_t piece : {one.input.size(), size_t{1}, size_t{997}}) {
      if (piece == 1 && one.input.size() > 200'000) continue;
      Outcome outcome = Run(one.input, piece);
      EXPECT_EQ(outcome.frames.size(), one.expected.size()) << one.name << ", pieces of " << piece;
      EXPECT_TRUE(outcome.frames == one.expected) << one.name << ", pieces of " << piece;
      EXPECT_EQ(outcome.finished, one.finished) << one.name << ", pieces of " << piece;
    }
  }
}

TEST(Conformance, Group1Framing) {
  std::vector<Case> cases;
  for (size_t size : {0u, 125u, 126u, 127u, 128u, 65535u, 65536u}) {
    std::string text(size, '*');
    std::string binary(size, '\xFE');
    cases.push_back({"1.1 text of " + std::to_string(size),
                     Text(text) + Close(),
                     {{kTextFrame, text}, Closed(1000)}});
    cases.push_back({"1.2 binary of " + std::to_string(size),
                     Binary(binary) + Close(),
                     {{kBinaryFrame, binary}, Closed(1000)}});
  }
  Check(cases);
}

TEST(Conformance, Group2PingsAndPongs) {
  std::string many;
  Frames answers;
  for (int i = 0; i < 10; ++i) {
    many += Ping("payload-" + std::to_string(i));
    answers.push_back({kPongFrame, "payload-" + std::to_string(i)});
  }
  answers.push_back(Closed(1000));
  std::string bytes_of_all_kinds("\x00\xFF\xFE\xFD\xFC\xFB\x00\xFF", 8);
  Check({
      {"2.1 empty ping", Ping("") + Close(), {{kPongFrame, ""}, Closed(1000)}},
      {"2.2 text payload", Ping("Hello") + Close(), {{kPongFrame, "Hello"}, Closed(1000)}},
      {"2.3 binary payload",
       Ping(bytes_of_all_kinds) + Close(),
       {{kPongFrame, bytes_of_all_kinds}, Closed(1000)}},
      {"2.4 payload of 125",
       Ping(std::string(125, '\xFE')) + Close(),
       {{kPongFrame, std::string(125, '\xFE')}, Closed(1000)}},
      {"2.5 payload of 126", Ping(std::string(126, '\xFE')), {Closed(1002)}},
      {"2.7 unsolicited empty pong", Pong("") + Close(), {Closed(1000)}},
      {"2.8 unsolicited pong", Pong("unsolicited") + Close(), {Closed(1000)}},
      {"2.9 unsolicited pong, then ping",
       Pong("unsolicited") + Ping("ping") + Close(),
       {{kPongFrame, "ping"}, Closed(1000)}},
      {"2.10 ten pings", many + Close(), answers},
  });
}

TEST(Conformance, Group3ReservedBits) {
  std::vector<Case> cases;
  for (uint8_t bits = 1; bits < 8; ++bits) {
    for (uint8_t opcode : {uint8_t{1}, uint8_t{2}, uint8_t{9}, uint8_t{8}}) {
      std::string bad = Encode({.opcode = opcode, .payload = "Hello", .reserved = bits});
      std::string name = "3 bits " + std::to_string(bits) + " opcode " + std::to_string(opcode);
      cases.push_back({name, bad, {Closed(1002)}});
      cases.push_back({name + " after a text",
                       Text("Hello") + bad + Ping("late"),
                       {{kTextFrame, "Hello"}, Closed(1002)}});
    }
  }
  Check(cases);
}

TEST(Conformance, Group4Opcodes) {
  std::vector<Case> cases;
  for (uint8_t opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    for (const char* payload : {"", "Hello"}) {
      std::string bad = Encode({.opcode = opcode, .payload = payload});
      cases.push_back({"4 opcode " + std::to_string(opcode), bad, {Closed(1002)}});
      cases.push_back({"4 opcode " + std::to_string(opcode) + " after a text",
                       Text("Hello") + bad,
                       {{kTextFrame, "Hello"}, Closed(1002)}});
    }
  }
  Check(cases);
}

TEST(Conformance, Group5Fragmentation) {
  const std::string a = "fragment1", b = "fragment2";
  Check({
      {"5.1 fragmented ping", Part(9, a, false) + Part(0, b, true), {Closed(1002)}},
      {"5.2 fragmented pong", Part(10, a, false) + Part(0, b, true), {Closed(1002)}},
      {"5.3 two fragments",
       Part(1, a, false) + Part(0, b, true) + Close(),
       {{kTextFrame, a + b}, Closed(1000)}},
      {"5.6 ping in between",
       Part(1, a, false) + Ping("ping") + Part(0, b, true) + Close(),
       {{kPongFrame, "ping"}, {kTextFrame, a + b}, Closed(1000)}},
      {"5.9 continuation of nothing", Part(0, a, true) + Text("Hello"), {Closed(1002)}},
      {"5.12 unfinished continuation of nothing",
       Part(0, a, false) + Text("Hello"),
       {Closed(1002)}},
      {"5.15 continuation after the end",
       Part(1, a, false) + Part(0, b, true) + Part(0, a, false) + Text(b),
       {{kTextFrame, a + b}, Closed(1002)}},
      {"5.16 continuation first, twice", Part(0, a, false) + Part(1, b, true), {Closed(1002)}},
      {"5.18 text within a text", Part(1, a, false) + Part(1, b, true), {Closed(1002)}},
      {"5.19 five fragments, two pings",
       Part(1, a, false) + Part(0, b, false) + Ping("1") + Part(0, a, false) + Part(0, b, false) +
           Ping("2") + Part(0, "5", true) + Close(),
       {{kPongFrame, "1"}, {kPongFrame, "2"}, {kTextFrame, a + b + a + b + "5"}, Closed(1000)}},
      {"5.3 empty fragments",
       Part(1, "", false) + Part(0, "", false) + Part(0, "", true) + Close(),
       {{kTextFrame, ""}, Closed(1000)}},
  });
}

const std::string kValidUtf8[] = {
    "",
    "Hello-\xC2\xB5@\xC3\x9F\xC3\xB6\xC3\xA4\xC3\xBC\xC3\xA0\xC3\xA1-UTF-8!!",
    "\xCE\xBA\xE1\xBD\xB9\xCF\x83\xCE\xBC\xCE\xB5",
    std::string(1, '\0'),
    "\xC2\x80",
    "\xE0\xA0\x80",
    "\xF0\x90\x80\x80",
    "\x7F",
    "\xDF\xBF",
    "\xEF\xBF\xBF",
    "\xF4\x8F\xBF\xBF",
    "\xED\x9F\xBF",
    "\xEE\x80\x80",
    "\xEF\xBF\xBD",
    "\xEF\xBF\xBE",
};

const std::string kInvalidUtf8[] = {
    "\xCE\xBA\xE1\xBD\xB9\xCF\x83\xCE\xBC\xCE\xB5\xED\xA0\x80"
    "edited",
    "\xF8\x88\x80\x80\x80",
    "\xFC\x84\x80\x80\x80\x80",
    "\xF7\xBF\xBF\xBF",
    "\xFB\xBF\xBF\xBF\xBF",
    "\xFD\xBF\xBF\xBF\xBF\xBF",
    "\xF4\x90\x80\x80",
    "\x80",
    "\xBF",
    "\x80\xBF",
    "\xC0 ",
    "\xE0 ",
    "\xF0 ",
    "\xC0",
    "\xE0\x80",
    "\xF0\x80\x80",
    "\xDF",
    "\xEF\xBF",
    "\xF7\xBF\xBF",
    "\xFE",
    "\xFF",
    "\xFE\xFE\xFF\xFF",
    "\xC0\xAF",
    "\xE0\x80\xAF",
    "\xF0\x80\x80\xAF",
    "\xC1\xBF",
    "\xE0\x9F\xBF",
    "\xF0\x8F\xBF\xBF",
    "\xC0\x80",
    "\xED\xA0\x80",
    "\xED\xBF\xBF",
    "\xED\xA0\x80\xED\xB0\x80",
};

TEST(Conformance, Group6Utf8) {
  std::vector<Case> cases;
  for (const std::string& text : kValidUtf8) {
    cases.push_back({"6 valid", Text(text) + Close(), {{kTextFrame, text}, Closed(1000)}});
    // Each byte is a separate fragment.
    std::string fragments = Part(1, "", false);
    for (char c : text) fragments += Part(0, std::string(1, c), false);
    cases.push_back({"6.2 valid by bytes",
                     fragments + Part(0, "", true) + Close(),
                     {{kTextFrame, text}, Closed(1000)}});
  }
  for (const std::string& text : kInvalidUtf8) {
    cases.push_back({"6 invalid " + testing::PrintToString(text), Text(text), {Closed(1007)}});
    cases.push_back({"6.3 invalid in fragments",
                     Part(1, text.substr(0, 1), false) + Part(0, text.substr(1), true),
                     {Closed(1007)}});
  }
  // The error ends the connection although the message is not complete.
  cases.push_back({"6.4 fails fast", Part(1, "a\xF4\x90", false), {Closed(1007)}});
  cases.push_back({"6.4 not yet", Part(1, "a\xF4", false), {}, false});
  Check(cases);
}

TEST(Conformance, Group7ClosingHandshake) {
  auto closing = [](std::string payload) {
    return Encode({.opcode = 8, .payload = std::move(payload)});
  };
  std::vector<Case> cases{
      {"7.1.1 after a text", Text("Hello") + Close(), {{kTextFrame, "Hello"}, Closed(1000)}},
      {"7.1.2 twice", Close() + Close(), {Closed(1000)}},
      {"7.1.3 ping after it", Close() + Ping("late"), {Closed(1000)}},
      {"7.1.4 text after it", Close() + Text("late"), {Closed(1000)}},
      {"7.1.5 within a message",
       Part(1, "a", false) + Close() + Part(0, "b", true),
       {Closed(1000)}},
      {"7.1.6 after 256 KiB",
       Text(std::string(256 << 10, 'B')) + Close() + Ping(""),
       {{kTextFrame, std::string(256 << 10, 'B')}, Closed(1000)}},
      {"7.3.1 empty", closing(""), {Closed(1000)}},
      {"7.3.2 one byte", closing("a"), {Closed(1002)}},
      {"7.3.3 code only", closing(ClosePayload(1000)), {Closed(1000)}},
      {"7.3.4 reason", closing(ClosePayload(1000, "Hello World!")), {Closed(1000)}},
      {"7.3.5 reason of 123", closing(ClosePayload(1000, std::string(123, '*'))), {Closed(1000)}},
      {"7.3.6 reason of 124", closing(ClosePayload(1000, std::string(124, '*'))), {Closed(1002)}},
      {"7.5.1 reason is not UTF-8",
       closing(ClosePayload(1000, "\xCE\xBA\xED\xA0\x80")),
       {Closed(1007)}},
  };
  for (uint16_t code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
                        3000, 3999, 4000, 4999}) {
    cases.push_back(
        {"7.7 code " + std::to_string(code), closing(ClosePayload(code)), {Closed(code)}});
  }
  for (uint16_t code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
    cases.push_back(
        {"7.9 code " + std::to_string(code), closing(ClosePayload(code)), {Closed(1002)}});
  }
  Check(cases);
}

TEST(Conformance, Group9LargeMessagesInSmallFragments) {
  std::string payload(1 << 20, '*');
  std::string fragments = Part(2, "", false);
  for (size_t i = 0; i < payload.size(); i += 1024) {
    fragments += Part(0, payload.substr(i, 1024), i + 1024 == payload.size());
  }
  Check({{"9.4", fragments + Close(), {{kBinaryFrame, payload}, Closed(1000)}}});
}

}  // namespace
}  // namespace agent_graph::websocket
