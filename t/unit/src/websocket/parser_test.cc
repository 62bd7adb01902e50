#include "websocket/parser.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "client_frames.h"

namespace agent_graph::websocket {
namespace {

using Kind = ParserEvent::Kind;

// All events except kNeedInput, as text that is easy to compare.
std::string Describe(const ParserEvent& event) {
  switch (event.kind) {
    case Kind::kNeedInput:
      return "";
    case Kind::kMessage:
      return (event.opcode == Opcode::kText ? "text:" : "binary:") + event.payload;
    case Kind::kSkipped:
      return event.opcode == Opcode::kText ? "skipped text" : "skipped binary";
    case Kind::kPing:
      return "ping:" + event.payload;
    case Kind::kPong:
      return "pong:" + event.payload;
    case Kind::kClose:
      return "close " + std::to_string(event.code) + ":" + event.payload;
    case Kind::kFailed:
      return "failed " + std::to_string(event.code);
  }
  return "?";
}

void FeedPiece(Parser& parser, std::string piece, std::vector<std::string>& events) {
  std::span<char> input(piece);
  do {
    ParserEvent event = parser.Next(input);
    if (event.kind == Kind::kNeedInput) {
      EXPECT_TRUE(input.empty());
    } else {
      events.push_back(Describe(event));
    }
  } while (!input.empty());
}

std::vector<std::string> Events(const std::string& bytes, ParserLimits limits = {},
                                size_t piece = 0) {
  Parser parser(limits);
  std::vector<std::string> events;
  if (piece == 0) piece = std::max<size_t>(bytes.size(), 1);
  for (size_t i = 0; i < bytes.size(); i += piece) {
    FeedPiece(parser, bytes.substr(i, piece), events);
  }
  return events;
}

using Strings = std::vector<std::string>;

TEST(Parser, ReadsTheExamplesOfTheRfc) {
  std::string hello("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11);
  EXPECT_EQ(Events(hello), Strings{"text:Hello"});
  EXPECT_EQ(Events(hello, {}, 1), Strings{"text:Hello"});
}

TEST(Parser, ReadsEveryLengthOfTheLengthField) {
  for (size_t size : {0u, 1u, 125u, 126u, 127u, 128u, 65535u, 65536u, 65537u}) {
    std::string payload(size, '*');
    EXPECT_EQ(Events(Encode({.opcode = 2, .payload = payload})), Strings{"binary:" + payload});
  }
}

TEST(Parser, JoinsFragmentsAroundControlFrames) {
  std::string bytes = Encode({.opcode = 1, .payload = "one", .final = false}) +
                      Encode({.opcode = 9, .payload = "p"}) +
                      Encode({.opcode = 0, .payload = "", .final = false}) +
                      Encode({.opcode = 10}) + Encode({.opcode = 0, .payload = " two"}) +
                      Encode({.opcode = 2, .payload = "three"});
  Strings expected{"ping:p", "pong:", "text:one two", "binary:three"};
  EXPECT_EQ(Events(bytes), expected);
  EXPECT_EQ(Events(bytes, {}, 1), expected);
}

TEST(Parser, GivesTheSameEventsHoweverBytesAreCut) {
  std::mt19937 random(42);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
      std::string payload(random() % 300, '\0');
      for (char& c : payload) c = static_cast<char>('a' + random() % 26);
      int fragments = 1 + static_cast<int>(random() % 3);
      for (int k = 0; k < fragments; ++k) {
        bytes += Encode({.opcode = static_cast<uint8_t>(k == 0 ? 1 + random() % 2 : 0),
                         .payload = payload,
                         .final = k == fragments - 1,
                         .key = static_cast<uint32_t>(random())});
        if (random() % 4 == 0) bytes += Encode({.opcode = 9, .payload = payload.substr(0, 20)});
      }
    }
    // Inserts an error in half of the cases.
    if (random() % 2 == 0) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    Strings expected = Events(bytes);
    EXPECT_EQ(Events(bytes, {}, 1), expected);
    Parser parser({});
    Strings events;
    for (size_t i = 0; i < bytes.size();) {
      size_t size = std::min<size_t>(bytes.size() - i, 1 + random() % 50);
      FeedPiece(parser, bytes.substr(i, size), events);
      i += size;
    }
    EXPECT_EQ(events, expected);
  }
}

TEST(Parser, FailsAtTheByteThatBreaksARule) {
  struct Case {
    const char* what;
    std::string bytes;  // the last byte is the invalid one
    uint16_t code;
  };
  std::string open_text = Encode({.opcode = 1, .payload = "a", .final = false});
  const Case cases[] = {
      {"not masked", std::string("\x81\x05", 2), 1002},
      {"RSV1", std::string("\xC1\x80", 2), 1002},
      {"RSV2", std::string("\xA1\x80", 2), 1002},
      {"RSV3", std::string("\x91\x80", 2), 1002},
      {"opcode 3", std::string("\x83\x80", 2), 1002},
      {"opcode 15", std::string("\x8F\x80", 2), 1002},
      {"fragmented ping", std::string("\x09\x80", 2), 1002},
      {"fragmented close", std::string("\x08\x80", 2), 1002},
      {"ping of 126", std::string("\x89\xFE", 2), 1002},
      {"close of 127", std::string("\x88\xFF", 2), 1002},
      {"nothing to continue", std::string("\x80\x80", 2), 1002},
      {"text within a text", open_text + std::string("\x81\x80", 2), 1002},
      {"length with the top bit", std::string("\x82\xFF\x80\0\0\0\0\0\0\0\0\0\0\0", 14), 1002},
      {"16-bit length below 126", std::string("\x82\xFE\0\x7D\0\0\0\0", 8), 1002},
      {"64-bit length below 65536", std::string("\x82\xFF\0\0\0\0\0\0\xFF\xFF\0\0\0\0", 14), 1002},
      {"invalid UTF-8", std::string("\x81\x85\0\0\0\0a\xC0", 8), 1007},
  };
  for (const Case& one : cases) {
    Parser parser({});
    Strings events;
    for (size_t i = 0; i + 1 < one.bytes.size(); ++i) {
      FeedPiece(parser, one.bytes.substr(i, 1), events);
    }
    EXPECT_EQ(events, Strings{}) << one.what;
    FeedPiece(parser, one.bytes.substr(one.bytes.size() - 1), events);
    EXPECT_EQ(events, Strings{"failed " + std::to_string(one.code)}) << one.what;
    FeedPiece(parser, Encode({.payload = "after"}), events);
    EXPECT_EQ(events.size(), 1u) << one.what;
  }
}

TEST(Parser, ChecksUtf8AcrossFragments) {
  auto text = [](std::string a, std::string b) {
    return Encode({.opcode = 1, .payload = std::move(a), .final = false}) +
           Encode({.opcode = 0, .payload = std::move(b)});
  };
  EXPECT_EQ(Events(text("\xE2\x82", "\xAC")), Strings{"text:\xE2\x82\xAC"});
  EXPECT_EQ(Events(text("\xE2\x82", "x")), Strings{"failed 1007"});
  EXPECT_EQ(Events(text("ok", "\xE2\x82")), Strings{"failed 1007"});
  EXPECT_EQ(Events(Encode({.opcode = 2, .payload = "\xFF\xFE"})), Strings{"binary:\xFF\xFE"});
}

TEST(Parser, ReadsCloseFrames) {
  auto close = [](std::string payload) {
    return Events(Encode({.opcode = 8, .payload = std::move(payload)}));
  };
  EXPECT_EQ(close(""), Strings{"close 1005:"});
  EXPECT_EQ(close(ClosePayload(1000, "bye")), Strings{"close 1000:bye"});
  EXPECT_EQ(close("\x03"), Strings{"failed 1002"});
  EXPECT_EQ(close(ClosePayload(1005)), Strings{"failed 1002"});
  EXPECT_EQ(close(ClosePayload(1000, "\xFF")), Strings{"failed 1007"});
  EXPECT_EQ(close(ClosePayload(4999, std::string(123, 'r'))),
            Strings{"close 4999:" + std::string(123, 'r')});
}

TEST(Parser, SaysNothingAfterAClose) {
  EXPECT_EQ(Events(Encode({.opcode = 8}) + Encode({.payload = "late"})), Strings{"close 1005:"});
}

TEST(Parser, RefusesAFrameOverTheLimitFromItsHeaderAlone) {
  ParserLimits limits{.frame_bytes_max = 1000, .message_bytes_max = 5000};
  EXPECT_EQ(Events(Encode({.opcode = 2, .payload = std::string(1000, 'x')}), limits),
            Strings{"binary:" + std::string(1000, 'x')});
  std::string header = Encode({.opcode = 2, .claimed_length = 1001});
  EXPECT_EQ(Events(header, limits), Strings{"failed 1009"});
  std::string huge = Encode({.opcode = 2, .claimed_length = (uint64_t{1} << 63) - 1});
  EXPECT_EQ(Events(huge, limits), Strings{"failed 1009"});
}

TEST(Parser, RefusesAMessageWhoseFragmentsExceedTheLimit) {
  ParserLimits limits{.frame_bytes_max = 1000, .message_bytes_max = 1500};
  std::string first = Encode({.opcode = 2, .payload = std::string(1000, 'x'), .final = false});
  EXPECT_EQ(Events(first + Encode({.opcode = 0, .payload = std::string(500, 'y')}), limits),
            Strings{"binary:" + std::string(1000, 'x') + std::string(500, 'y')});
  EXPECT_EQ(Events(first + Encode({.opcode = 0, .claimed_length = 501}), limits),
            Strings{"failed 1009"});
}

TEST(Parser, SkipsWhatIsTooBigAndGoesOn) {
  ParserLimits limits{
      .frame_bytes_max = 1000, .message_bytes_max = 1500, .oversize = Oversize::kSkip};
  std::string bytes = Encode({.opcode = 2, .payload = std::string(1001, '\xFF')}) +
                      Encode({.opcode = 1, .payload = "small"}) +
                      Encode({.opcode = 1, .payload = "begin", .final = false}) +
                      Encode({.opcode = 0, .payload = std::string(70000, 'x'), .final = false}) +
                      Encode({.opcode = 9, .payload = "p"}) +
                      Encode({.opcode = 0, .payload = "end"}) +
                      Encode({.opcode = 2, .payload = "next"});
  Strings expected{"skipped binary", "text:small", "ping:p", "skipped text", "binary:next"};
  EXPECT_EQ(Events(bytes, limits), expected);
  EXPECT_EQ(Events(bytes, limits, 1), expected);
  EXPECT_EQ(Events(bytes, limits, 777), expected);
}

TEST(Parser, HoldsNothingOfASkippedMessage) {
  Parser parser({.frame_bytes_max = 10, .message_bytes_max = 10, .oversize = Oversize::kSkip});
  Strings events;
  FeedPiece(parser, Encode({.opcode = 2, .payload = std::string(10, 'a'), .final = false}), events);
  EXPECT_EQ(parser.buffered_bytes(), 10u);
  FeedPiece(parser, Encode({.opcode = 0, .payload = std::string(100000, 'b'), .final = false}),
            events);
  EXPECT_EQ(parser.buffered_bytes(), 0u);
  EXPECT_TRUE(events.empty());
}

TEST(Parser, HoldsOnlyWhatHasArrived) {
  Parser parser({.frame_bytes_max = 1 << 30, .message_bytes_max = 1 << 30});
  Strings events;
  FeedPiece(parser, Encode({.opcode = 2, .payload = "abc", .claimed_length = 1 << 29}), events);
  EXPECT_EQ(parser.buffered_bytes(), 3u);
  EXPECT_TRUE(parser.in_message());
}

}  // namespace
}  // namespace agent_graph::websocket
