#include "base/id_generator.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace agent_graph {
namespace {

constexpr IdKind kNumeric[] = {IdKind::kInteger, IdKind::kBigint, IdKind::kSnowflake};

TEST(IdGeneratorTest, NumbersGrowAndNeverRepeat) {
  for (IdKind kind : kNumeric) {
    const IdGenerator ids({.kind = kind});
    uint64_t last = 0;
    for (int i = 0; i < 10'000; ++i) {
      const uint64_t id = std::stoull(ids.Next());
      ASSERT_GT(id, last);
      last = id;
    }
  }
}

TEST(IdGeneratorTest, ThreadsOfAWorkerShareOneSequence) {
  for (IdKind kind : kNumeric) {
    const IdGenerator ids({.kind = kind});
    std::vector<std::vector<std::string>> made(4);
    std::vector<std::thread> threads;
    for (auto& list : made) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5'000; ++i) list.push_back(ids.Next());
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<std::string> all;
    for (const auto& list : made) all.insert(list.begin(), list.end());
    EXPECT_EQ(all.size(), 20'000u);
  }
}

TEST(IdGeneratorTest, WorkersNeverMakeTheSameNumber) {
  for (IdKind kind : kNumeric) {
    const IdGenerator one({.kind = kind, .worker = 1});
    const IdGenerator two({.kind = kind, .worker = 2});
    std::set<std::string> all;
    for (int i = 0; i < 5'000; ++i) {
      all.insert(one.Next());
      all.insert(two.Next());
    }
    EXPECT_EQ(all.size(), 10'000u);
  }
}

TEST(IdGeneratorTest, AnIntegerIsSafeInJavaScript) {
  const uint64_t id = std::stoull(IdGenerator({.kind = IdKind::kInteger, .worker = 63}).Next());
  EXPECT_LT(id, uint64_t{1} << 53);
  EXPECT_NEAR(static_cast<double>(id), static_cast<double>(UnixMicros()), 60e6);
}

TEST(IdGeneratorTest, ASnowflakeHoldsTimeNodeAndWorker) {
  const int64_t epoch = IdOptions::kEpochDefault;
  const IdGenerator ids({.kind = IdKind::kSnowflake, .node = 21, .worker = 1024 + 7});
  const uint64_t id = std::stoull(ids.Next());
  EXPECT_LT(id, uint64_t{1} << 63);
  EXPECT_EQ(id >> 17 & 31, 21u);
  EXPECT_EQ(id >> 7 & 1023, 7u);
  const auto millis = static_cast<int64_t>(id >> 22) + epoch;
  EXPECT_NEAR(static_cast<double>(millis), static_cast<double>(UnixMicros()) / 1000, 60'000);
}

TEST(IdGeneratorTest, ASnowflakeBeforeItsEpochIsNotThatOfAnEarlierStart) {
  const IdOptions options{.kind = IdKind::kSnowflake, .epoch_millis = 4'102'444'800'000};
  uint64_t last = 0;
  for (int start = 0; start < 3; ++start) {
    const uint64_t id = std::stoull(IdGenerator(options).Next());
    EXPECT_GT(id, last);
    last = id;
    for (const int64_t now = UnixMicros() / 1000; UnixMicros() / 1000 == now;) {
    }
  }
}

TEST(IdGeneratorTest, NamesItself) {
  EXPECT_EQ(IdGenerator().name(), "UUIDGenerator");
  EXPECT_EQ(IdGenerator().type(), "string");
  EXPECT_EQ(IdGenerator().Next().size(), 36u);
  EXPECT_EQ(IdGenerator({.kind = IdKind::kInteger}).type(), "integer");
  EXPECT_EQ(IdGenerator({.kind = IdKind::kSnowflake}).type(), "bigint");
}

}  // namespace
}  // namespace agent_graph
