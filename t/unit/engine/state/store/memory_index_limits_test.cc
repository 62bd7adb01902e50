// Search in memories: limits of memory.
#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory_index_fixture.h"

namespace agent_graph::state {
namespace {

using testing::SizeIs;

// Counts how often all memories of a scope are read.
class CountingRows : public MemoryRows {
 public:
  explicit CountingRows(const MemoryRows& rows) : rows_(rows) {}

  std::unique_ptr<MemorySnapshot> Snapshot() const override {
    return std::make_unique<CountingSnapshot>(rows_.Snapshot(), reads);
  }

  mutable int reads = 0;

 private:
  class CountingSnapshot : public MemorySnapshot {
   public:
    CountingSnapshot(std::unique_ptr<MemorySnapshot> rows, int& reads)
        : rows_(std::move(rows)), reads_(reads) {}
    Status ForEachRecord(const Scope& scope, const UseRecord& use) const override {
      ++reads_;
      return rows_->ForEachRecord(scope, use);
    }
    Status ForEachVector(const Scope& scope, const UseVector& use) const override {
      return rows_->ForEachVector(scope, use);
    }
    Result<std::optional<MemoryRecord>> FindRecord(const MemoryKey& key) const override {
      return rows_->FindRecord(key);
    }
    Result<std::optional<Embedding>> FindVector(const MemoryKey& key) const override {
      return rows_->FindVector(key);
    }

   private:
    const std::unique_ptr<MemorySnapshot> rows_;
    int& reads_;
  };

  const MemoryRows& rows_;
};

TEST_F(MemoryIndexTest, MemoryIsBounded) {
  const std::vector<float> vector = RandomVector();
  for (size_t i = 1; i <= 3000; ++i) Put("many", i, vector);
  for (size_t i = 1; i <= 20; ++i) Put(Numbered("user", static_cast<int>(i)), 10'000 + i, vector);
  Commit();
  MemoryIndex index(rows_, "", 30'000, kNearestMin);
  EXPECT_EQ(index.Search(Query("many", vector)).status().code(), StatusCode::kResourceExhausted);
  // The users' vectors do not fit into memory together, so they are loaded in turn.
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i <= 20; ++i) {
      EXPECT_EQ(Found(index, Query(Numbered("user", i), vector)),
                std::set<std::string>{std::to_string(10'000 + i)});
    }
  }
}

TEST_F(MemoryIndexTest, AScopeThatIsTooLargeIsNotReadForEachSearch) {
  const std::vector<float> vector = RandomVector();
  // The vectors need about 256 KiB, the texts 64 KiB.
  for (size_t i = 1; i <= 500; ++i) Put("many", i, vector);
  Commit();
  constexpr size_t kBytesMax = 200'000;
  const CountingRows rows(rows_);
  MemoryIndex index(rows, "", kBytesMax, kNearestMin);
  SearchMemoriesRequest by_words = Query("many", {});
  by_words.ranking = Ranking::kWords;
  by_words.query = "x";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(index.Search(Query("many", vector)).status().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(rows.reads, i == 0 ? 1 : 2);
    EXPECT_THAT(Found(index, by_words), SizeIs(10));
    EXPECT_EQ(rows.reads, 2);
  }
  // The words are searched in a partition that takes changes over meanwhile.
  index.Changed({Put("many", 501, vector, "rare")});
  Commit();
  by_words.query = "rare";
  EXPECT_THAT(Found(index, by_words), SizeIs(1));
  EXPECT_EQ(rows.reads, 2);
}

TEST_F(MemoryIndexTest, AScopeThatWasTooLargeIsSearchedAgain) {
  const std::vector<float> vector = RandomVector();
  for (size_t i = 1; i <= 500; ++i) Put("many", i, vector);
  Commit();
  MemoryIndex index(rows_, "", 200'000, kNearestMin, std::chrono::milliseconds(0));
  EXPECT_EQ(index.Search(Query("many", vector)).status().code(), StatusCode::kResourceExhausted);
  std::vector<MemoryKey> removed;
  for (size_t i = 1; i <= 400; ++i) removed.push_back({"many", i});
  for (const MemoryKey& key : removed) {
    transaction_.Delete(keys::Memory(key));
    transaction_.Delete(keys::MemoryVector(key));
  }
  Commit();
  index.Changed(removed);
  EXPECT_THAT(Found(index, Query("many", vector)), SizeIs(10));
}

TEST_F(MemoryIndexTest, TheLongestUnusedPartitionMakesRoom) {
  const std::vector<float> vector = RandomVector();
  size_t number = 0;
  for (const char* owner : {"a", "b", "c"}) {
    for (int i = 0; i < 100; ++i) Put(owner, ++number, vector);
  }
  Commit();
  // Two of these partitions fit.
  const CountingRows rows(rows_);
  MemoryIndex index(rows, "", 200'000, kNearestMin);
  const auto reads_of = [&](const char* owner) {
    const int before = rows.reads;
    Found(index, Query(owner, vector));
    return rows.reads - before;
  };
  EXPECT_EQ(reads_of("a"), 1);
  EXPECT_EQ(reads_of("b"), 1);
  EXPECT_EQ(reads_of("a"), 0);
  EXPECT_EQ(reads_of("c"), 1);
  EXPECT_EQ(reads_of("a"), 0);
  EXPECT_EQ(reads_of("b"), 1);
}

TEST_F(MemoryIndexTest, ApproximateIndexesCount) {
  const size_t many = FillPartition().bytes();
  for (int i = 1; i <= 100; ++i) Put("few", kMany + static_cast<size_t>(i), RandomVector());
  Commit();
  // Both partitions fit, and one of them with its index.
  constexpr size_t kRest = 32 * 1024;
  const size_t bytes_max = many + NearestIndex::BytesOf(kDimensions, kMany) + kRest;
  TemporaryDirectory directory;
  const CountingRows rows(rows_);
  MemoryIndex index(rows, directory.path(), bytes_max, kNearestMin);
  Found(index, Query("few", RandomVector()));
  Found(index, Query("alice", RandomVector()));
  const int reads = rows.reads;
  std::thread keeper([&] { index.KeepIndexes(); });
  AwaitSeal(directory.path());
  index.Stop();
  keeper.join();
  EXPECT_EQ(rows.reads, reads);
  Found(index, Query("alice", RandomVector()));
  EXPECT_EQ(rows.reads, reads);
  (void)index.Search(Query("few", RandomVector()));
  EXPECT_EQ(rows.reads, reads + 1) << "the partition made room for the index";
}

}  // namespace
}  // namespace agent_graph::state
