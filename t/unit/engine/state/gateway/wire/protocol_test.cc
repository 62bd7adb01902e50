#include "state/gateway/wire/protocol.h"
#include "state/requests.h"

#include <gtest/gtest.h>

#include <limits>

namespace agent_graph::state::wire {
namespace {

std::string Payload(const std::string& frame) {
  return frame.substr(kFrameHeaderBytes);
}

TEST(Protocol, RequestIsNumberedAfterItIsMade) {
  std::string frame = BeginRequest(Operation::kGetState, 42);
  pack::Packer packer(frame);
  pack::Pack(packer, ThreadRequest{Scope::Owner("alice"), "thread"});
  ASSERT_TRUE(EndFrame(frame));
  NumberRequest(frame, std::numeric_limits<uint64_t>::max(), 17);
  const std::string payload = Payload(frame);
  pack::Unpacker unpacker(payload);
  EXPECT_EQ(ReadFrameType(unpacker), FrameType::kRequest);
  const RequestHeader header = ReadRequestHeader(unpacker);
  EXPECT_EQ(header.sequence, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(header.acknowledged_below, 17u);
  EXPECT_EQ(header.operation, Operation::kGetState);
  EXPECT_EQ(header.micros, 42);
  ThreadRequest body;
  ASSERT_TRUE(pack::TryUnpack(unpacker, body));
  EXPECT_EQ(body.thread_id, "thread");
}

TEST(Protocol, ReplyCarriesStatusAndBody) {
  const std::string payload =
      Payload(MakeReply(9, Status(StatusCode::kBusy, "busy"), pack::ToBytes(StopReply{true, "r"})));
  pack::Unpacker unpacker(payload);
  EXPECT_EQ(ReadFrameType(unpacker), FrameType::kReply);
  const ReplyHeader header = ReadReplyHeader(unpacker);
  EXPECT_EQ(header.sequence, 9u);
  EXPECT_EQ(header.code, StatusCode::kBusy);
  EXPECT_EQ(header.message, "busy");
  StopReply body;
  ASSERT_TRUE(pack::TryUnpack(unpacker, body));
  EXPECT_EQ(body.run_id, "r");
}

TEST(Protocol, TooLargeRequestIsNotMadeAndTooLargeReplySaysSo) {
  std::string frame = BeginRequest(Operation::kPutState, 0);
  frame.append(kFrameBytesMax, 'x');
  EXPECT_FALSE(EndFrame(frame));
  const std::string payload = Payload(MakeReply(1, Status::Ok(), std::string(kFrameBytesMax, 'x')));
  pack::Unpacker unpacker(payload);
  ReadFrameType(unpacker);
  EXPECT_EQ(ReadReplyHeader(unpacker).code, StatusCode::kResourceExhausted);
}

TEST(FrameReader, CutsFramesHoweverTheyArrive) {
  const std::string first = MakeFrame(FrameType::kStepDown, StepDown{7});
  const std::string second = MakeFrame(FrameType::kGoAway);
  const std::string bytes = first + second;
  for (size_t portion = 1; portion <= bytes.size(); ++portion) {
    FrameReader reader;
    std::vector<std::string> payloads;
    for (size_t at = 0; at < bytes.size(); at += portion) {
      reader.Add(std::string_view(bytes).substr(at, portion));
      std::string payload;
      while (reader.Next(payload)) payloads.push_back(payload);
    }
    EXPECT_EQ(payloads, (std::vector<std::string>{Payload(first), Payload(second)})) << portion;
  }
}

TEST(FrameReader, RefusesAFrameBeyondTheBound) {
  FrameReader reader;
  reader.Add(std::string_view("\xff\xff\xff\xff rest", 9));
  std::string payload;
  EXPECT_FALSE(reader.Next(payload));
  EXPECT_TRUE(reader.broken());
}

}  // namespace
}  // namespace agent_graph::state::wire
