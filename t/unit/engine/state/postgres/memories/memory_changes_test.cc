// Search indexes of several hosts over the memories of one database.
#include "state/postgres/memories/memory_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "../test_database.h"
#include "state/search/memory_index.h"

namespace agent_graph::state::postgres {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using StoredMemories = std::map<uint64_t, MemoryRecord>;

// The committed memories, which all hosts read.
class CommittedRows : public MemoryRows {
 public:
  void Put(uint64_t number, const MemoryRecord& record) {
    MutexLock lock(mutex_);
    memories_[number] = record;
  }
  void Erase(uint64_t number) {
    MutexLock lock(mutex_);
    memories_.erase(number);
  }
  std::unique_ptr<MemorySnapshot> Snapshot() const override {
    MutexLock lock(mutex_);
    ++snapshots;
    return std::make_unique<View>(memories_);
  }

  mutable std::atomic<int> snapshots = 0;

 private:
  class View : public MemorySnapshot {
   public:
    explicit View(StoredMemories memories) : memories_(std::move(memories)) {}
    Status ForEachRecord(const Scope& scope, const UseRecord& use) const override {
      for (const auto& [number, record] : memories_) {
        if (scope.kind == Scope::Kind::kOwner && record.owner != scope.user_id) continue;
        AG_RETURN_IF_ERROR(use({record.owner, number}, record));
      }
      return Status::Ok();
    }
    Status ForEachVector(const Scope&, const UseVector&) const override { return Status::Ok(); }
    Result<std::optional<MemoryRecord>> FindRecord(const MemoryKey& key) const override {
      const auto found = memories_.find(key.number);
      if (found == memories_.end()) return std::optional<MemoryRecord>();
      return std::optional<MemoryRecord>(found->second);
    }
    Result<std::optional<Embedding>> FindVector(const MemoryKey&) const override {
      return std::optional<Embedding>();
    }

   private:
    const StoredMemories memories_;
  };

  mutable Mutex mutex_;
  StoredMemories memories_ AG_GUARDED_BY(mutex_);
};

struct Host {
  Host(std::shared_ptr<const MemoryRows> committed, const ConnectionOptions& options)
      : rows(std::move(committed), options), index(rows, "", size_t{1} << 30) {}
  SharedMemoryRows rows;
  MemoryIndex index;
};

class MemoryChangesTest : public DatabaseTest {
 protected:
  MemoryRecord RecordOf(const std::string& owner, const std::string& content) {
    MemoryRecord record;
    record.owner = owner;
    record.content = record.id = content;
    return record;
  }
  void Commit(const MemoryKey& memory) {
    const Status done = connection_.ExecuteAll(RecordMemoryChanges({&memory, 1})).status();
    ASSERT_TRUE(done.ok()) << done.ToString();
  }
  void Store(uint64_t number, const std::string& owner, const std::string& content) {
    committed_->Put(number, RecordOf(owner, content));
    Commit({owner, number});
  }
  void Remove(uint64_t number, const std::string& owner) {
    committed_->Erase(number);
    Commit({owner, number});
  }
  std::vector<std::string> Found(Host& host, const Scope& scope, const std::string& query) {
    SearchMemoriesRequest search;
    search.scope = scope;
    search.query = query;
    search.ranking = Ranking::kWords;
    Result<MemoryHits> hits = host.index.Search(search);
    EXPECT_TRUE(hits.ok()) << hits.status().ToString();
    std::vector<std::string> found;
    if (!hits.ok()) return found;
    for (const MemoryHit& hit : hits->hits) found.push_back(hit.memory.content);
    return found;
  }
  void RemoveOldRecords() {
    const Status done = connection_.Execute(RemoveMemoryChanges(seconds(-1))).status();
    ASSERT_TRUE(done.ok()) << done.ToString();
    EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.memory_change"), 0);
  }

  const std::shared_ptr<CommittedRows> committed_ = std::make_shared<CommittedRows>();
  Host a_{committed_, Options()};
  Host b_{committed_, Options()};
  const Scope alice_ = Scope::Owner("alice");
};

TEST_F(MemoryChangesTest, EachHostFindsTheChangesOfTheOthers) {
  Store(1, "alice", "green tea");
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("green tea"));
  EXPECT_THAT(Found(b_, alice_, "tea"), ElementsAre("green tea"));
  Store(2, "alice", "black tea");
  EXPECT_THAT(Found(a_, alice_, "tea"), UnorderedElementsAre("green tea", "black tea"));
  EXPECT_THAT(Found(b_, alice_, "tea"), UnorderedElementsAre("green tea", "black tea"));
  Store(1, "alice", "coffee");
  EXPECT_THAT(Found(b_, alice_, "tea"), ElementsAre("black tea"));
  EXPECT_THAT(Found(b_, alice_, "coffee"), ElementsAre("coffee"));
  Remove(2, "alice");
  EXPECT_THAT(Found(a_, alice_, "tea"), IsEmpty());
  EXPECT_THAT(Found(b_, alice_, "tea"), IsEmpty());
}

TEST_F(MemoryChangesTest, ChangesReachTheIndexOfAllOwners) {
  Store(1, "alice", "tea");
  EXPECT_THAT(Found(a_, Scope::All(), "tea"), ElementsAre("tea"));
  for (uint64_t i = 2; i < 40; ++i) Store(i, "owner " + std::to_string(i), "tea");
  EXPECT_EQ(Found(a_, Scope::All(), "tea").size(), 10u);  // the limit
  Store(50, std::string("\0\xff", 2), "cacao");
  EXPECT_THAT(Found(a_, Scope::All(), "cacao"), ElementsAre("cacao"));
  EXPECT_THAT(Found(a_, Scope::Owner(std::string("\0\xff", 2)), "cacao"), ElementsAre("cacao"));
}

TEST_F(MemoryChangesTest, ASearchWithoutChangesReadsNoMemoriesAgain) {
  Store(1, "alice", "tea");
  Found(a_, alice_, "nothing");
  const int before = committed_->snapshots;
  Found(a_, alice_, "nothing");
  // One snapshot for the hits.
  EXPECT_EQ(committed_->snapshots, before + 1);
}

TEST_F(MemoryChangesTest, AHostThatHasMissedChangesBuildsItsIndexesAgain) {
  Store(1, "alice", "green tea");
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("green tea"));
  Store(1, "alice", "coffee");
  Store(2, "alice", "black tea");
  RemoveOldRecords();
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("black tea"));
  EXPECT_THAT(Found(a_, alice_, "coffee"), ElementsAre("coffee"));
  // From then on it follows the changes again.
  Store(3, "alice", "red tea");
  EXPECT_THAT(Found(a_, alice_, "tea"), UnorderedElementsAre("black tea", "red tea"));
}

TEST_F(MemoryChangesTest, ARestoredDatabaseIsReadAgain) {
  Store(1, "alice", "green tea");
  Store(1, "alice", "black tea");
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("black tea"));
  committed_->Put(1, RecordOf("alice", "green tea"));
  Run({"UPDATE agent_graph.memory_bucket SET seq = 1 WHERE seq = 2"});
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("green tea"));
}

TEST_F(MemoryChangesTest, ADatabaseThatHasFailedOverIsReadAgain) {
  PostgresServer server;
  ConnectionOptions options = Options();
  options.url = server.CreateDatabase();
  Connection connection(options);
  ASSERT_TRUE(MigrateSchema(connection).ok());
  Host host(committed_, options);
  committed_->Put(1, RecordOf("alice", "green tea"));
  EXPECT_THAT(Found(host, alice_, "tea"), ElementsAre("green tea"));
  // The new primary has another change in the place of the one that was lost.
  committed_->Put(1, RecordOf("alice", "coffee"));
  server.Kill();
  server.Start();
  EXPECT_THAT(Found(host, alice_, "coffee"), ElementsAre("coffee"));
  EXPECT_THAT(Found(host, alice_, "tea"), IsEmpty());
}

TEST_F(MemoryChangesTest, ManyChangesAreReportedAsMissed) {
  Store(1, "alice", "tea");
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("tea"));
  committed_->Put(1, RecordOf("alice", "coffee"));
  Run({"UPDATE agent_graph.memory_bucket SET seq = seq + 10001 WHERE seq > 0"});
  EXPECT_THAT(Found(a_, alice_, "coffee"), ElementsAre("coffee"));
}

TEST_F(MemoryChangesTest, AChangeIsVisibleOnlyWithItsTransaction) {
  Store(1, "alice", "tea");
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("tea"));
  Connection writer(Options());
  const MemoryKey memory{"alice", 2};
  writer.Begin();
  ASSERT_TRUE(writer.ExecuteAll(RecordMemoryChanges({&memory, 1})).ok());
  EXPECT_THAT(Found(a_, alice_, "tea"), ElementsAre("tea"));
  committed_->Put(2, RecordOf("alice", "mint tea"));
  ASSERT_TRUE(writer.Commit().ok());
  EXPECT_THAT(Found(a_, alice_, "tea"), UnorderedElementsAre("tea", "mint tea"));
}

TEST_F(MemoryChangesTest, ConcurrentChangesOfManyOwnersDoNotDeadlock) {
  std::vector<std::thread> threads;
  std::vector<Status> statuses(4);
  for (size_t thread = 0; thread < statuses.size(); ++thread) {
    threads.emplace_back([&, thread] {
      Connection connection(Options());
      std::vector<MemoryKey> memories;
      for (uint64_t i = 0; i < 30; ++i) memories.push_back({"owner " + std::to_string(i), i});
      if (thread % 2 == 1) std::reverse(memories.begin(), memories.end());
      for (int i = 0; i < 20 && statuses[thread].ok(); ++i) {
        connection.Begin();
        statuses[thread] = connection
                               .Commit(thread == 3 ? std::vector{RemoveMemoryChanges(seconds(-1))}
                                                   : RecordMemoryChanges(memories))
                               .status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(MemoryChangesTest, TheSearchFailsWhileTheDatabaseIsAway) {
  ConnectionOptions nowhere = Options();
  nowhere.url = "postgresql:///x?host=/nowhere";
  Host host(committed_, nowhere);
  SearchMemoriesRequest search;
  search.query = "tea";
  search.ranking = Ranking::kWords;
  EXPECT_EQ(host.index.Search(search).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace agent_graph::state::postgres
