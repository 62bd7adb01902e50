#include "api/stream/framing.h"

#include <gtest/gtest.h>

namespace agent_graph::api {
namespace {

TEST(Framing, NdjsonIsTheLine) {
  EXPECT_EQ(Frame(Framing::kNdjson, {"message", "c", "{}\n"}), "{}\n");
  EXPECT_EQ(HeartbeatOf(Framing::kNdjson), "\n");
}

TEST(Framing, SseHasIdEventAndData) {
  EXPECT_EQ(Frame(Framing::kSse, {"message", "c", "{}\n"}), "id: c\nevent: message\ndata: {}\n\n");
  EXPECT_EQ(Frame(Framing::kSse, {"updates", "", "{}\n"}), "event: updates\ndata: {}\n\n");
  EXPECT_TRUE(HeartbeatOf(Framing::kSse).starts_with(':'));
}

TEST(Framing, NdjsonIsChosenByItsOwnType) {
  EXPECT_TRUE(AcceptsNdjson("application/x-ndjson"));
  EXPECT_TRUE(AcceptsNdjson("text/event-stream, Application/X-NDJSON;q=0.5"));
  for (const char* accept : {"", "*/*", "text/event-stream", "application/x-ndjson;q=0"}) {
    EXPECT_FALSE(AcceptsNdjson(accept)) << accept;
  }
}

TEST(Framing, FindsTheEventOfALine) {
  EXPECT_EQ(EventIn("{\"event\":\"updates\",\"message\":null}\n"), "updates");
}

}  // namespace
}  // namespace agent_graph::api
