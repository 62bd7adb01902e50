#include "websocket/endpoint.h"

#include <gtest/gtest.h>

#include "client_frames.h"

namespace agent_graph::websocket {
namespace {

using Kind = EndpointEvent::Kind;

class EndpointTest : public testing::Test {
 protected:
  // Returns the kinds of events before kNeedInput.
  std::vector<Kind> Feed(std::string bytes) {
    std::vector<Kind> kinds;
    std::span<char> input(bytes);
    for (;;) {
      EndpointEvent event = endpoint_.Next(input);
      if (event.kind == Kind::kNeedInput) return kinds;
      kinds.push_back(event.kind);
    }
  }
  std::vector<ServerFrame> Taken() {
    return DecodeServerFrames(endpoint_.TakeControlFrames() + endpoint_.TakeCloseFrame()).value();
  }

  Endpoint endpoint_{ParserLimits{}};
};

using Kinds = std::vector<Kind>;
using Frames = std::vector<ServerFrame>;

TEST_F(EndpointTest, AnswersPingsInTheirOrder) {
  std::string pings;
  Frames pongs;
  for (int i = 0; i < 10; ++i) {
    pings += Encode({.opcode = 9, .payload = std::string(125, static_cast<char>('a' + i))});
    pongs.push_back({0x8A, std::string(125, static_cast<char>('a' + i))});
  }
  EXPECT_EQ(Feed(pings).size(), 10u);
  EXPECT_TRUE(endpoint_.has_control_frames());
  EXPECT_EQ(Taken(), pongs);
  EXPECT_FALSE(endpoint_.has_control_frames());
}

TEST_F(EndpointTest, AnswersOnlyTheNewestOfManyPings) {
  std::string pings;
  for (int i = 0; i < 1000; ++i) {
    pings += Encode({.opcode = 9, .payload = std::to_string(i)});
  }
  EXPECT_EQ(Feed(pings).size(), 1000u);
  const Frames pongs = Taken();
  ASSERT_FALSE(pongs.empty());
  EXPECT_LE(pongs.size(), kPongsBytesMax / 5);
  for (size_t i = 0; i < pongs.size(); ++i) {
    EXPECT_EQ(pongs[i].payload, std::to_string(1000 - pongs.size() + i));
  }
}

TEST_F(EndpointTest, ClosesAndWaitsForTheAnswer) {
  endpoint_.Close(close_code::kGoingAway, "server reload");
  EXPECT_FALSE(endpoint_.open());
  EXPECT_FALSE(endpoint_.waits_for_close());  // not written yet
  EXPECT_EQ(Taken(), (Frames{{0x88, ClosePayload(1001, "server reload")}}));
  EXPECT_TRUE(endpoint_.waits_for_close());
  EXPECT_FALSE(endpoint_.finished());

  // Input that was in flight is dropped, and pings get no answer.
  EXPECT_EQ(Feed(Encode({.payload = "late"}) + Encode({.opcode = 9, .payload = "p"})),
            Kinds{Kind::kAlive});
  EXPECT_FALSE(endpoint_.has_control_frames());

  EXPECT_EQ(Feed(Encode({.opcode = 8, .payload = ClosePayload(1001)})), Kinds{Kind::kEnding});
  EXPECT_TRUE(endpoint_.finished());
  EXPECT_TRUE(Taken().empty());
  EXPECT_EQ(endpoint_.close_code(), 1001);
  EXPECT_FALSE(endpoint_.closed_by_peer());
}

TEST_F(EndpointTest, StoresNothingOnceItCloses) {
  EXPECT_TRUE(Feed(Encode({.payload = "the beginning", .final = false})).empty());
  EXPECT_EQ(endpoint_.buffered_bytes(), 13u);
  endpoint_.Close(close_code::kTryAgainLater, "busy");
  EXPECT_EQ(endpoint_.buffered_bytes(), 0u);
  Feed(Encode({.opcode = 0, .payload = "more", .final = false}));
  EXPECT_EQ(endpoint_.buffered_bytes(), 0u);
  Feed(Encode({.opcode = 0, .payload = "end"}) + Encode({.payload = "next", .final = false}));
  EXPECT_EQ(endpoint_.buffered_bytes(), 0u);
  EXPECT_EQ(Feed(Encode({.opcode = 8, .payload = ClosePayload(1013)})), Kinds{Kind::kEnding});
}

TEST_F(EndpointTest, OnlyTheFirstCloseCounts) {
  endpoint_.Close(1008, "first");
  endpoint_.Close(1011, "second");
  EXPECT_EQ(Taken(), (Frames{{0x88, ClosePayload(1008, "first")}}));
  endpoint_.Close(1011, "third");
  endpoint_.Ping("p");
  EXPECT_TRUE(Taken().empty());
}

TEST_F(EndpointTest, EchoesThePeersClose) {
  EXPECT_EQ(Feed(Encode({.opcode = 8, .payload = ClosePayload(4001, "bye")})),
            Kinds{Kind::kEnding});
  EXPECT_FALSE(endpoint_.open());
  EXPECT_FALSE(endpoint_.finished());
  EXPECT_EQ(Taken(), (Frames{{0x88, ClosePayload(4001)}}));
  EXPECT_TRUE(endpoint_.finished());
  EXPECT_TRUE(endpoint_.closed_by_peer());
  EXPECT_EQ(endpoint_.close_code(), 4001);
}

TEST_F(EndpointTest, APeerThatClosesMakesAPendingCloseUrgent) {
  endpoint_.Close(close_code::kGoingAway, "server reload");
  EXPECT_TRUE(endpoint_.has_close_frame());
  EXPECT_FALSE(endpoint_.close_is_urgent());
  EXPECT_EQ(Feed(Encode({.opcode = 8, .payload = ClosePayload(4001)})), Kinds{Kind::kEnding});
  EXPECT_TRUE(endpoint_.close_is_urgent());
  EXPECT_FALSE(endpoint_.finished());
  EXPECT_EQ(Taken(), (Frames{{0x88, ClosePayload(1001, "server reload")}}));
  EXPECT_FALSE(endpoint_.has_close_frame());
  EXPECT_FALSE(endpoint_.waits_for_close());
  EXPECT_TRUE(endpoint_.finished());
  EXPECT_FALSE(endpoint_.closed_by_peer());
}

TEST_F(EndpointTest, AViolationWhileItWaitsEndsTheHandshake) {
  endpoint_.Close(close_code::kGoingAway, "");
  Taken();
  EXPECT_TRUE(endpoint_.waits_for_close());
  EXPECT_EQ(Feed(Encode({.opcode = 3})), Kinds{Kind::kEnding});
  EXPECT_TRUE(endpoint_.finished());
  EXPECT_FALSE(endpoint_.fault().empty());
  EXPECT_TRUE(Taken().empty());
}

TEST_F(EndpointTest, AnswersACloseWithoutCodeWith1000) {
  Feed(Encode({.opcode = 8}));
  EXPECT_EQ(Taken(), (Frames{{0x88, ClosePayload(1000)}}));
  EXPECT_EQ(endpoint_.close_code(), close_code::kNone);
}

TEST_F(EndpointTest, FailsWithoutWaitingForTheAnswer) {
  EXPECT_EQ(Feed(Encode({.opcode = 3})), Kinds{Kind::kEnding});
  Frames frames = Taken();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].payload.substr(0, 2), ClosePayload(1002));
  EXPECT_TRUE(endpoint_.finished());
  EXPECT_FALSE(endpoint_.fault().empty());
  EXPECT_FALSE(endpoint_.closed_by_peer());
}

TEST_F(EndpointTest, PingsThePeer) {
  endpoint_.Ping("42");
  EXPECT_EQ(Taken(), (Frames{{0x89, "42"}}));
  EXPECT_EQ(Feed(Encode({.opcode = 10, .payload = "42"})), Kinds{Kind::kAlive});
}

TEST_F(EndpointTest, APongDoesNotOvertakeTheClose) {
  Feed(Encode({.opcode = 9, .payload = "p"}));
  endpoint_.Close(1000, "");
  EXPECT_EQ(Taken(), (Frames{{0x8A, "p"}, {0x88, ClosePayload(1000)}}));
}

TEST_F(EndpointTest, ReportsASkippedMessage) {
  Endpoint live{{.frame_bytes_max = 4, .message_bytes_max = 4, .oversize = Oversize::kSkip}};
  std::string bytes = Encode({.opcode = 2, .payload = "12345"}) + Encode({.payload = "1234"});
  std::span<char> input(bytes);
  EXPECT_EQ(live.Next(input).kind, Kind::kSkipped);
  EXPECT_EQ(live.Next(input).payload, "1234");
}

TEST_F(EndpointTest, SkipsTheMessageInProgress) {
  Feed(Encode({.opcode = 2, .payload = "begun", .final = false}));
  EXPECT_TRUE(endpoint_.in_binary_message());
  EXPECT_EQ(endpoint_.buffered_bytes(), 5u);
  endpoint_.SkipMessage();
  EXPECT_EQ(endpoint_.buffered_bytes(), 0u);
  EXPECT_EQ(Feed(Encode({.opcode = 0, .payload = "more", .final = false})), Kinds{});
  EXPECT_EQ(endpoint_.buffered_bytes(), 0u);
  EXPECT_EQ(Feed(Encode({.opcode = 0, .payload = "rest"}) + Encode({.payload = "next"})),
            (Kinds{Kind::kSkipped, Kind::kMessage}));
  EXPECT_FALSE(endpoint_.in_binary_message());
}

}  // namespace
}  // namespace agent_graph::websocket
