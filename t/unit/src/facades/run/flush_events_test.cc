// FlushEvents: what it sends, and what the text keeps.
#include "facades/run/flush_events.h"

#include <gtest/gtest.h>

#include <vector>

namespace agent_graph::facades {
namespace {

TEST(FlushEvents, SendsWhatThereIsOnce) {
  std::vector<std::string> sent;
  const auto send = [&](std::string_view events) {
    sent.emplace_back(events);
    return Status::Ok();
  };
  std::string events;
  EXPECT_TRUE(FlushEvents(events, send).ok());
  events = "a";
  EXPECT_TRUE(FlushEvents(events, send).ok());
  EXPECT_TRUE(FlushEvents(events, send).ok());
  EXPECT_EQ(sent, std::vector<std::string>{"a"});
}

TEST(FlushEvents, IsEmptyAfterAFailure) {
  std::string events = "a";
  const Status sent =
      FlushEvents(events, [](std::string_view) { return Status(StatusCode::kCancelled, ""); });
  EXPECT_EQ(sent.code(), StatusCode::kCancelled);
  EXPECT_TRUE(events.empty());
}

TEST(FlushEvents, KeepsTheMemoryOfAShortEventOnly) {
  const auto send = [](std::string_view) { return Status::Ok(); };
  std::string events(kEventBytesKept / 2, 'x');
  EXPECT_TRUE(FlushEvents(events, send).ok());
  EXPECT_GE(events.capacity(), kEventBytesKept / 2);
  events.assign(100 * kEventBytesKept, 'x');
  EXPECT_TRUE(FlushEvents(events, send).ok());
  EXPECT_LE(events.capacity(), kEventBytesKept);
}

}  // namespace
}  // namespace agent_graph::facades
