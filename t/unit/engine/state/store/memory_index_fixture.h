// A MemoryIndex over memories in a database.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../requests.h"
#include "state/leveldb/database/database.h"
#include "state/rows/transaction.h"
#include "state/search/memory_index.h"
#include "state/store/memories.h"
#include "state/store/memory_rows.h"

namespace agent_graph::state {

inline constexpr size_t kDimensions = 128;
inline constexpr size_t kPlenty = size_t{1} << 30;
inline constexpr size_t kNearestMin = 2'000;
inline constexpr size_t kMany = kNearestMin + 500;
inline constexpr std::chrono::minutes kBuildPatience{5};

inline std::string Bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class MemoryIndexTest : public testing::Test {
 protected:
  MemoryIndexTest() : database_(*LevelDatabase::OpenMemory()), transaction_(*database_) {}

  // Alice's memories, stored in the database and loaded into memory as for a search.
  Partition FillPartition() {
    Partition partition("test", kDimensions, kNearestMin);
    std::vector<Embedding> embeddings;
    MemoryRecord record;
    record.owner = "alice";
    record.content = "x";
    for (size_t i = 1; i <= kMany; ++i) {
      const std::vector<float> vector = RandomVector();
      embeddings.push_back({"test", Bytes(vector)});
      partition.Put(Put("alice", i, vector), record);
    }
    Commit();
    for (size_t i = 1; i <= kMany; ++i) partition.PutVector({"alice", i}, embeddings[i - 1]);
    return partition;
  }

  // Length 1: cosine and dot product give the same order.
  std::vector<float> RandomVector() {
    std::vector<float> vector(kDimensions);
    float square = 0;
    for (float& value : vector) {
      value = normal_(random_);
      square += value * value;
    }
    for (float& value : vector) value /= std::sqrt(square);
    return vector;
  }

  MemoryKey Put(const std::string& owner, uint64_t number, const std::vector<float>& vector,
                const std::string& content = "x") {
    const MemoryKey key{owner, number};
    MemoryRecord record;
    record.id = std::to_string(number);
    record.owner = owner;
    record.content = content;
    transaction_.PutRow(keys::Memory(key), record);
    transaction_.PutRow(keys::MemoryVector(key), Embedding{"test", Bytes(vector)});
    return key;
  }
  void Commit() {
    transaction_.Accept(false);
    ASSERT_TRUE(transaction_.Commit().ok());
  }

  static SearchMemoriesRequest Query(const std::string& owner, const std::vector<float>& vector,
                                     Metric metric = Metric::kCosine) {
    SearchMemoriesRequest search;
    search.scope = Scope::Owner(owner);
    search.embedding = {"test", Bytes(vector)};
    search.metric = metric;
    return search;
  }
  static std::set<std::string> Found(MemoryIndex& index, const SearchMemoriesRequest& search) {
    Result<MemoryHits> hits = index.Search(search);
    EXPECT_TRUE(hits.ok()) << hits.status().ToString();
    std::set<std::string> ids;
    if (!hits.ok()) return ids;
    for (const MemoryHit& hit : hits->hits) ids.insert(hit.memory.id);
    return ids;
  }
  // The fraction of the exact search's results that the approximate search finds.
  double Recall(MemoryIndex& index) {
    size_t same = 0;
    size_t all = 0;
    for (int i = 0; i < 50; ++i) {
      const std::vector<float> query = RandomVector();
      const auto exact = Found(index, Query("alice", query, Metric::kDotProduct));
      for (const std::string& id : Found(index, Query("alice", query))) same += exact.count(id);
      all += exact.size();
    }
    return static_cast<double>(same) / static_cast<double>(all);
  }
  // The name of a saved index; empty if there is none.
  static std::string NameOfSealed(const std::string& directory) {
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(directory, ignored)) {
      if (file.path().extension() == ".seal") return file.path().stem();
    }
    return "";
  }
  static bool HasSeal(const std::string& directory) { return !NameOfSealed(directory).empty(); }
  static void AwaitSeal(const std::string& directory) {
    const Deadline patience = DeadlineAfter(kBuildPatience);
    // Leaves the processor to the thread that saves the index.
    constexpr std::chrono::milliseconds kPause{10};
    while (!HasSeal(directory) && MonotonicClock::now() < patience) {
      std::this_thread::sleep_for(kPause);
    }
    ASSERT_TRUE(HasSeal(directory));
  }

  std::unique_ptr<LevelDatabase> database_;
  const StoredMemoryRows rows_{*database_};
  Transaction transaction_;
  std::mt19937 random_{42};
  std::normal_distribution<float> normal_;
};

}  // namespace agent_graph::state
