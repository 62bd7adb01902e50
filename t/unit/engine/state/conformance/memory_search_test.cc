// Conformance suite of state::Memories: search by vector, by words and by both, and its filters.
#include <gmock/gmock.h>

#include <cstring>

#include "conformance.h"
#include "memories_fixture.h"
#include "state/maintenance.h"
#include "state/memories.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_P(MemoriesTest, SearchOrdersByTheMetric) {
  Add("same", "", "x", {1, 0});
  Add("long", "", "x", {3, 0.3f});
  Add("across", "", "x", {0, 1});
  SearchMemoriesRequest search = QueryOf("", {1, 0});
  std::vector<MemoryHit> hits = Hits(search);
  ASSERT_THAT(hits, SizeIs(3));
  EXPECT_EQ(hits[0].memory.id, "same");
  EXPECT_NEAR(hits[0].score, 1, 1e-6);
  EXPECT_EQ(hits[1].memory.id, "long");
  EXPECT_NEAR(hits[2].score, 0, 1e-6);
  search.metric = Metric::kDotProduct;
  EXPECT_THAT(Found(search), ElementsAre("long", "same", "across"));
  EXPECT_NEAR(Hits(search)[0].score, 3, 1e-5);
  search.metric = Metric::kEuclidean;
  EXPECT_THAT(Found(search), ElementsAre("same", "across", "long"));
  EXPECT_NEAR(Hits(search)[0].score, 1, 1e-6);
  search.metric = Metric::kManhattan;
  EXPECT_THAT(Found(search), ElementsAre("same", "across", "long"));
  EXPECT_NEAR(Hits(search)[1].score, 1.0 / 3, 1e-6);
  search.score_min = 0.9;
  EXPECT_THAT(Found(search), ElementsAre("same"));
  search.score_min.reset();
  search.limit = 2;
  EXPECT_THAT(Found(search), ElementsAre("same", "across"));
}

TEST_P(MemoriesTest, SearchFollowsEveryChange) {
  Add("a", "alice", "tea", {1, 0});
  EXPECT_THAT(Found(QueryOf("alice", {1, 0})), ElementsAre("a"));
  EXPECT_THAT(Found(QueryOf("", {1, 0})), ElementsAre("a"));
  Add("b", "alice", "coffee", {0, 1});
  EXPECT_THAT(Found(QueryOf("alice", {0, 1})), ElementsAre("b", "a"));
  UpdateMemoryRequest update;
  update.name = {Scope::Owner("alice"), "a", ""};
  update.content = "coffee, too";
  update.embedding = VectorOf({0, 2});
  ASSERT_TRUE(memories().UpdateMemory(update).ok());
  EXPECT_NEAR(Hits(QueryOf("alice", {0, 1}))[1].score, 1, 1e-6);
  EXPECT_EQ(Hits(QueryOf("", {0, 1}))[1].memory.content, "coffee, too");
  ASSERT_TRUE(memories().DeleteMemory({Scope::Owner("alice"), "a", ""}).ok());
  EXPECT_THAT(Found(QueryOf("alice", {0, 1})), ElementsAre("b"));
  EXPECT_THAT(Found(QueryOf("", {0, 1})), ElementsAre("b"));
  EXPECT_EQ(GetCode("alice", "a"), StatusCode::kNotFound);
}

TEST_P(MemoriesTest, FiltersMatchFieldsAndMetadata) {
  for (int i = 0; i < 50; ++i) {
    StoreMemoryRequest store = NewOf(Numbered("m", i), "", "x", {1, static_cast<float>(i)});
    store.record.category = i % 2 == 0 ? "even" : "odd";
    store.record.agent_id = i % 5 == 0 ? "five" : "other";
    store.record.metadata_json =
        R"({"third":)" + std::to_string(i % 3) + R"(,"flag":)" + (i < 10 ? "true" : "false") + "}";
    Add(store);
  }
  SearchMemoriesRequest search = QueryOf("", {1, 0});
  search.filter.equals = {{"category", "\"even\""}, {"third", "1"}, {"flag", "true"}};
  EXPECT_THAT(Found(search), ElementsAre("m4"));
  EXPECT_THAT(Listed("", search.filter), ElementsAre("m4"));
  // 1.0 equals 1, but "1" does not.
  search.filter.equals[1].json = "1.0";
  EXPECT_THAT(Found(search), ElementsAre("m4"));
  search.filter.equals[1].json = "\"1\"";
  EXPECT_THAT(Found(search), IsEmpty());
  search.filter.equals = {{"agent_id", "\"five\""}};
  search.limit = 100;
  EXPECT_THAT(Found(search), SizeIs(10));
  // A match is found regardless of its rank.
  search.filter.equals = {{"content", "\"x\""}, {"category", "\"odd\""}};
  search.limit = 1;
  EXPECT_THAT(Found(search), ElementsAre("m1"));
  Result<RemovedMemories> removed = memories().RemoveMemories(
      {Scope::All(), {{{"category", "\"odd\""}}}, {"m1", "m2", "m3", "none"}});
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->count, 2u);
  EXPECT_EQ(GetCode("", "m2"), StatusCode::kOk);
}

TEST_P(MemoriesTest, FiltersMatchMetadataThatManyUpdatesMade) {
  auto keys = [](const char* prefix) {
    std::string text = "{";
    for (int i = 0; i < 60'000; ++i) {
      text += (i == 0 ? "\"" : ",\"") + Numbered(prefix, i) + "\":1";
    }
    return text + "}";
  };
  StoreMemoryRequest store = NewOf("m", "", "x", {1, 0});
  store.record.metadata_json = keys("a");
  Add(store);
  UpdateMemoryRequest update;
  update.name = {Scope::All(), "m", ""};
  update.content = "x";
  update.metadata_json = keys("b");
  update.embedding = VectorOf({1, 0});
  ASSERT_TRUE(memories().UpdateMemory(update).ok());
  SearchMemoriesRequest search = QueryOf("", {1, 0});
  search.filter.equals = {{"a1", "1"}, {"b1", "1"}};
  EXPECT_THAT(Found(search), ElementsAre("m"));
  EXPECT_THAT(Listed("", search.filter), ElementsAre("m"));
}

TEST_P(MemoriesTest, AgentsAreAskedForByName) {
  StoreMemoryRequest store = NewOf("m", "alice", "x", {1, 0});
  store.record.agent_id = "one";
  Add(store);
  EXPECT_TRUE(memories().GetMemory({Scope::Owner("alice"), "m", "one"}).ok());
  EXPECT_EQ(memories().GetMemory({Scope::Owner("alice"), "m", "two"}).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(memories().DeleteMemory({Scope::Owner("alice"), "m", "two"}).code(),
            StatusCode::kNotFound);
}

TEST_P(MemoriesTest, WordsFindWhatVectorsMissAndHybridHasBoth) {
  Add("by vector", "", "something about a drink", {1, 0});
  Add("by word", "", "the serial number is KX-4711", {0, 1});
  Add("by both", "", "a drink called KX-4711", {0.9f, 0.1f});
  Add("by nothing", "", "weather", {0, 1});
  SearchMemoriesRequest search = QueryOf("", {1, 0});
  search.query = "kx 4711";
  search.ranking = Ranking::kWords;
  EXPECT_THAT(Found(search), UnorderedElementsAre("by word", "by both"));
  for (const MemoryHit& hit : Hits(search)) {
    EXPECT_GT(hit.score, 0);
    EXPECT_LT(hit.score, 1);
  }
  search.ranking = Ranking::kHybrid;
  EXPECT_EQ(Found(search)[0], "by both");
  EXPECT_LE(Hits(search)[0].score, 1);
  search.limit = 2;
  EXPECT_THAT(Found(search), SizeIs(2));
}

TEST_P(MemoriesTest, NewestShowsTheLatestFirst) {
  for (int i = 0; i < 5; ++i) Add(Numbered("m", i), "", "x", {1, static_cast<float>(i)});
  SearchMemoriesRequest search = QueryOf("", {1, 0});
  search.ranking = Ranking::kNewest;
  search.limit = 3;
  EXPECT_THAT(Found(search), ElementsAre("m4", "m3", "m2"));
  EXPECT_THAT(Listed(""), ElementsAre("m4", "m3", "m2", "m1", "m0"));
}

TEST_P(MemoriesTest, VectorsOfAnotherSpaceAreNotCompared) {
  Add("old", "", "tea", {1, 0});
  StoreMemoryRequest other = NewOf("new", "", "tea", {});
  other.embedding = VectorOf({1, 0, 0}, "another");
  Add(other);
  EXPECT_THAT(Found(QueryOf("", {1, 0})), ElementsAre("old"));
  SearchMemoriesRequest search = QueryOf("", {});
  search.embedding = VectorOf({1, 0, 0}, "another");
  EXPECT_THAT(Found(search), ElementsAre("new"));
  search.query = "tea";
  search.ranking = Ranking::kHybrid;
  EXPECT_THAT(Found(search), UnorderedElementsAre("old", "new"));
  // A vector of a different length in the same space matches nothing.
  EXPECT_THAT(Found(QueryOf("", {1, 0, 0})), IsEmpty());
  // The order by age includes memories whose vectors cannot be compared.
  search.ranking = Ranking::kNewest;
  EXPECT_THAT(Found(search), ElementsAre("new", "old"));
  search.score_min = 0.5;
  EXPECT_THAT(Found(search), ElementsAre("new"));
}

TEST_P(MemoriesTest, VectorsOfAnotherLengthAreNotCompared) {
  Add("short", "", "tea", {1, 0});
  Add("long", "", "tea", {1, 0, 0});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Found(QueryOf("", {1, 0})), ElementsAre("short"));
    EXPECT_THAT(Found(QueryOf("", {1, 0, 0})), ElementsAre("long"));
  }
}

TEST_P(MemoriesTest, AreEmbeddedAnew) {
  Add("a", "alice", "tea", {1, 0});
  Add("b", "bob", "coffee", {0, 1});
  Add("c", "", "milk", {});
  Add("d", "alice", "water", {1, 0, 0});
  const auto unembedded = [&](uint64_t limit) {
    std::vector<std::string> ids;
    ListUnembeddedRequest list{"test", 3, limit, {}};
    do {
      const Result<UnembeddedPage> page = client_->ListUnembedded(list);
      EXPECT_TRUE(page.ok()) << page.status().ToString();
      if (!page.ok()) break;
      for (const UnembeddedMemory& memory : page->memories) ids.push_back(memory.id);
      list.cursor = page->next_cursor;
    } while (!list.cursor.empty());
    return ids;
  };
  EXPECT_THAT(unembedded(100), ElementsAre("c", "b", "a"));
  EXPECT_THAT(unembedded(1), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Found(QueryOf("alice", {1, 0, 0})), ElementsAre("d"));

  ReplaceVectorsRequest put;
  put.vectors = {{"a", "tea", VectorOf({1, 0, 0})},
                 {"b", "what it said before", VectorOf({0, 1, 0})},
                 {"gone", "x", VectorOf({0, 1, 0})}};
  EXPECT_EQ(client_->ReplaceVectors(put)->count, 1u);
  EXPECT_THAT(unembedded(100), ElementsAre("c", "b"));
  EXPECT_THAT(Found(QueryOf("alice", {1, 0, 0})), UnorderedElementsAre("a", "d"));
  EXPECT_THAT(Found(QueryOf("alice", {1, 0})), IsEmpty());
  // Everything else is unchanged.
  const MemoryRecord record = memories().GetMemory({ScopeOf("alice"), "a", ""}).value();
  EXPECT_EQ(record.content, "tea");
  EXPECT_EQ(record.created_micros, record.updated_micros);
}

}  // namespace
}  // namespace agent_graph::state
