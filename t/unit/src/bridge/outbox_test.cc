#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "bridge/exchange.h"
#include "exchange_fixture.h"

namespace agent_graph::bridge {
namespace {

bool Rings(const Outbox& outbox) {
  pollfd descriptor{outbox.doorbell(), POLLIN, 0};
  return poll(&descriptor, 1, 0) == 1;
}

TEST(Outbox, RingsOnlyWhenItWasEmpty) {
  Outbox outbox;
  ASSERT_TRUE(outbox.ok());
  EXPECT_FALSE(Rings(outbox));
  outbox.Push({{1, 1}, SendHead{}});
  EXPECT_TRUE(Rings(outbox));
  outbox.ClearDoorbell();
  outbox.Push({{1, 1}, End{}});
  EXPECT_FALSE(Rings(outbox)) << "the loop has not taken the first item yet";
  EXPECT_EQ(Take(outbox).size(), 2u);
  outbox.Push({{2, 1}, End{}});
  EXPECT_TRUE(Rings(outbox));
}

TEST(Outbox, JoinsSmallChunksOfAnExchange) {
  Outbox outbox;
  Outbox::OpenChunk first;
  Outbox::OpenChunk second;
  outbox.PushChunk({1, 1}, "a", first);
  outbox.PushChunk({2, 1}, "b", second);
  outbox.PushChunk({1, 1}, "c", first);
  outbox.PushChunk({1, 1}, std::string(64 * 1024, 'd'), first);
  outbox.PushChunk({1, 1}, "e", first);
  auto items = Take(outbox);
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(std::get<SendChunk>(items[0].payload).bytes, "ac");
  EXPECT_EQ(std::get<SendChunk>(items[1].payload).bytes, "b");
  EXPECT_EQ(std::get<SendChunk>(items[2].payload).bytes.size(), 64u * 1024);
  EXPECT_EQ(std::get<SendChunk>(items[3].payload).bytes, "e");
  outbox.PushChunk({1, 1}, "f", first);
  items = Take(outbox);
  ASSERT_EQ(items.size(), 1u) << "the loop has taken the chunk before";
  EXPECT_EQ(std::get<SendChunk>(items[0].payload).bytes, "f");
}

TEST(Outbox, HasFewItemsForManyLinesOfManyExchanges) {
  constexpr uint32_t kExchanges = 100;
  constexpr int kLines = 300;
  const std::string line(299, 'x');
  Outbox outbox;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  for (uint32_t i = 0; i < kExchanges; ++i) exchanges.push_back(MakeExchange(outbox, {}, {i, 1}));
  for (int i = 0; i < kLines; ++i) {
    for (auto& exchange : exchanges) exchange->SendLast(line + "\n");
  }
  const auto items = Take(outbox);
  EXPECT_LE(items.size(), kExchanges * (kLines * 300 / (16 * 1024) + 1));
  size_t bytes = 0;
  for (const auto& item : items) bytes += std::get<SendChunk>(item.payload).bytes.size();
  EXPECT_EQ(bytes, kExchanges * kLines * 300u);
}

TEST(Outbox, DropsLogLinesBeyondItsBoundAndSaysSo) {
  Outbox outbox;
  for (int i = 0; i < 1030; ++i) outbox.Log(LogLevel::kInfo, "line " + std::to_string(i));
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 1025u);
  EXPECT_EQ(std::get<WriteLog>(items.back().payload).text, "6 log lines were dropped");
  outbox.Log(LogLevel::kInfo, "again");
  EXPECT_EQ(Take(outbox).size(), 1u);
}

}  // namespace
}  // namespace agent_graph::bridge
