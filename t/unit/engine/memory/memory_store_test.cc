// What a retrieval strategy makes of what the search finds.
#include "memory/memory_store.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>

namespace agent_graph::memory {
namespace {

using testing::ElementsAre;

// Finds what it is told to and knows the memories `kept`.
class FoundMemories final : public state::Memories {
 public:
  Status Store(const state::StoreMemory&) override { return Status::Ok(); }
  Status Update(const state::UpdateMemory&) override { return Status::Ok(); }
  Status DeleteMemory(const state::MemoryName&) override { return Status::Ok(); }
  Result<state::MemoryPage> List(const state::ListMemories&) override {
    return state::MemoryPage();
  }
  Result<state::RemovedMemories> Remove(const state::RemoveMemories&) override {
    return state::RemovedMemories();
  }
  Result<state::MemoryHits> Search(const state::SearchMemories&) override { return found; }
  Result<state::MemoryRecord> GetMemory(const state::MemoryName& name) override {
    const auto record = kept.find(name.id);
    if (record == kept.end()) return Status(StatusCode::kNotFound, "memory not found");
    return record->second;
  }

  state::MemoryHits found;
  std::map<std::string, state::MemoryRecord> kept;
};

class RelatedMemories : public testing::Test {
 protected:
  void SetUp() override {
    auto made = MakeEmbedder({}, {});
    ASSERT_TRUE(made.ok());
    embedder_ = *std::move(made);
  }

  static state::MemoryRecord Memory(const std::string& id, const std::string& related = "") {
    state::MemoryRecord record;
    record.id = record.content = id;
    if (!related.empty()) record.metadata_json = R"({"related_to":[")" + related + R"("]})";
    return record;
  }
  std::vector<std::string> Search(uint64_t limit) {
    MemoryStore store(memories_, *embedder_);
    MemoryQuery query;
    query.text = "anything";
    query.strategy = Strategy::kGraphTraversal;
    query.metric = state::Metric::kDotProduct;
    query.limit = limit;
    const runtime::Cancellation cancellation;
    const auto hits = store.Search({}, query, {cancellation});
    EXPECT_TRUE(hits.ok());
    std::vector<std::string> ids;
    for (const state::MemoryHit& hit : *hits) ids.push_back(hit.memory.id);
    return ids;
  }

  FoundMemories memories_;
  std::unique_ptr<Embedder> embedder_;
};

TEST_F(RelatedMemories, StandWhereHalfTheScorePutsThem) {
  memories_.kept["related"] = Memory("related");
  memories_.found.hits = {{Memory("first", "related"), 0.8}, {Memory("second"), 0.3}};
  EXPECT_THAT(Search(10), ElementsAre("first", "related", "second"));
}

// A dot product may be negative, and half of it is more.
TEST_F(RelatedMemories, NeverStandBeforeTheHitThatNamesThem) {
  memories_.kept["related"] = Memory("related");
  memories_.found.hits = {{Memory("first", "related"), -1.0}, {Memory("second"), -4.0}};
  EXPECT_THAT(Search(10), ElementsAre("first", "related", "second"));
  EXPECT_THAT(Search(1), ElementsAre("first"));
}

}  // namespace
}  // namespace agent_graph::memory
