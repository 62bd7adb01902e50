#include "base/named_durations.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace agent_graph {
namespace {

uint64_t TotalOf(NamedDurations& durations, std::string_view name) {
  return durations.Of(name).Read().Total();
}

TEST(DurationHistogram, CountsInTheFirstBucketThatIsLargeEnough) {
  DurationHistogram histogram{};
  for (uint64_t micros : {0u, 500u, 501u, 1'000u, 120'000'000u, 120'000'001u})
    histogram.Add(micros);
  const DurationCounts counts = histogram.Read();
  EXPECT_EQ(counts.buckets[0], 2u);
  EXPECT_EQ(counts.buckets[1], 2u);
  EXPECT_EQ(counts.buckets[kDurationBuckets - 2], 1u);
  EXPECT_EQ(counts.buckets[kDurationBuckets - 1], 1u);
  EXPECT_EQ(counts.Total(), 6u);
  EXPECT_EQ(counts.micros, 240'002'002u);
}

TEST(DurationHistogram, TakesOverWhatAnotherHasCountedSince) {
  DurationHistogram from{}, to{};
  from.Add(400);
  const DurationCounts before = from.Read();
  from.Add(600);
  to.Add(from.Read().Since(before));
  EXPECT_EQ(to.Read().Total(), 1u);
  EXPECT_EQ(to.Read().buckets[1], 1u);
  EXPECT_EQ(to.Read().micros, 600u);
}

TEST(NamedDurations, CountsByName) {
  NamedDurations durations;
  durations.Add("search", 1);
  durations.Add("search", 2);
  durations.Add("lookup", 3);
  EXPECT_EQ(TotalOf(durations, "search"), 2u);
  EXPECT_EQ(TotalOf(durations, "lookup"), 1u);
  ASSERT_EQ(durations.size(), 3u);
  EXPECT_EQ(durations.NameAt(0), "other");
  EXPECT_EQ(durations.NameAt(2), "lookup");
}

TEST(NamedDurations, CountsNamesBeyondTheBoundAsOther) {
  NamedDurations durations;
  for (size_t i = 0; i < 2 * NamedDurations::kNamesMax; ++i) {
    durations.Add("tool" + std::to_string(i), 1);
  }
  EXPECT_EQ(durations.size(), NamedDurations::kNamesMax + 1);
  EXPECT_EQ(TotalOf(durations, "other"), NamedDurations::kNamesMax);
  EXPECT_EQ(TotalOf(durations, "tool0"), 1u);
}

TEST(NamedDurations, CutsLongNames) {
  NamedDurations durations;
  durations.Add(std::string(1000, 'x'), 1);
  durations.Add(std::string(2000, 'x'), 1);
  ASSERT_EQ(durations.size(), 2u);
  EXPECT_EQ(durations.NameAt(1), std::string(NamedDurations::kNameBytesMax, 'x'));
}

TEST(NamedDurations, CountsFromManyThreads) {
  constexpr size_t kThreads = 4;
  constexpr size_t kRounds = 1000;
  NamedDurations durations;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < kRounds; ++i) durations.Add("tool" + std::to_string(i % 8), i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(durations.size(), 9u);
  uint64_t total = 0;
  for (size_t i = 0; i < durations.size(); ++i) total += durations.At(i).Read().Total();
  EXPECT_EQ(total, kThreads * kRounds);
}

}  // namespace
}  // namespace agent_graph
