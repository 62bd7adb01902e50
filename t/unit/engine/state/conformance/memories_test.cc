// Conformance suite of state::Memories: every implementation must pass it.
#include "state/memories.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "conformance.h"
#include "state/maintenance.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

Embedding VectorOf(std::vector<float> values, const std::string& space = "test") {
  Embedding embedding;
  embedding.space = space;
  if (values.empty()) return embedding;
  embedding.values.resize(values.size() * sizeof(float));
  std::memcpy(embedding.values.data(), values.data(), embedding.values.size());
  return embedding;
}

class MemoriesTest : public ConformanceTest {
 protected:
  Memories& memories() { return *client_; }

  static StoreMemoryRequest NewOf(const std::string& id, const std::string& user,
                                  const std::string& content, std::vector<float> vector) {
    StoreMemoryRequest store;
    store.scope = ScopeOf(user);
    store.record.id = id;
    store.record.owner = user;
    store.record.memory_type = "episodic";
    store.record.category = "general";
    store.record.content = content;
    store.embedding = VectorOf(std::move(vector));
    return store;
  }
  void Add(const StoreMemoryRequest& store) {
    Status status = memories().StoreMemory(store);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Add(const std::string& id, const std::string& user, const std::string& content,
           std::vector<float> vector) {
    Add(NewOf(id, user, content, std::move(vector)));
  }

  static SearchMemoriesRequest QueryOf(const std::string& user, std::vector<float> vector) {
    SearchMemoriesRequest search;
    search.scope = ScopeOf(user);
    search.embedding = VectorOf(std::move(vector));
    return search;
  }
  std::vector<MemoryHit> Hits(const SearchMemoriesRequest& search) {
    Result<MemoryHits> hits = memories().SearchMemories(search);
    EXPECT_TRUE(hits.ok()) << hits.status().ToString();
    return hits.ok() ? hits->hits : std::vector<MemoryHit>();
  }
  std::vector<std::string> Found(const SearchMemoriesRequest& search) {
    std::vector<std::string> ids;
    for (const MemoryHit& hit : Hits(search)) ids.push_back(hit.memory.id);
    return ids;
  }
  std::vector<std::string> Listed(const std::string& user, MemoryFilter filter = {}) {
    std::vector<std::string> ids;
    Result<MemoryPage> page = memories().ListMemories({ScopeOf(user), std::move(filter), 100, ""});
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    for (const MemoryRecord& memory : page->memories) ids.push_back(memory.id);
    return ids;
  }
  StatusCode GetCode(const std::string& user, const std::string& id) {
    return memories().GetMemory({ScopeOf(user), id, ""}).status().code();
  }
};

INSTANTIATE_TEST_SUITE_P(All, MemoriesTest, testing::ValuesIn(AllSetups()), SetupName);

class MemoriesTakeover : public MemoriesTest {};
INSTANTIATE_TEST_SUITE_P(All, MemoriesTakeover, testing::ValuesIn(LastingSetups()), SetupName);

TEST_P(MemoriesTest, KeepWhatWasStored) {
  StoreMemoryRequest store = NewOf("m", "alice", "likes tea", {1, 0});
  store.record.agent_id = "helper";
  store.record.thread_id = "t";
  store.record.memory_type = "semantic";
  store.record.category = "taste";
  store.record.metadata_json = R"({"source":"chat"})";
  Add(store);
  Result<MemoryRecord> memory = memories().GetMemory({Scope::Owner("alice"), "m", ""});
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->owner, "alice");
  EXPECT_EQ(memory->agent_id, "helper");
  EXPECT_EQ(memory->thread_id, "t");
  EXPECT_EQ(memory->memory_type, "semantic");
  EXPECT_EQ(memory->category, "taste");
  EXPECT_EQ(memory->content, "likes tea");
  EXPECT_EQ(memory->metadata_json, R"({"source":"chat"})");
  EXPECT_GT(memory->created_micros, 0);
  EXPECT_EQ(memory->created_micros, memory->updated_micros);
  EXPECT_EQ(memories().StoreMemory(store).code(), StatusCode::kConflict);
}

TEST_P(MemoriesTest, KeepTheMessageThatWasStored) {
  const std::string message = R"({"role":"assistant","content":[{"type":"text","text":"tea"}]})";
  StoreMemoryRequest store = NewOf("m", "alice", "tea", {1, 0});
  store.record.message_json = message;
  Add(store);
  StoreMemoryRequest image = NewOf("image", "alice", "", {});
  image.record.message_json = R"({"role":"user","content":[{"type":"image"}]})";
  Add(image);
  const auto kept = [&](const std::string& id) {
    return memories().GetMemory({ScopeOf("alice"), id, ""}).value().message_json;
  };
  EXPECT_EQ(kept("m"), message);
  EXPECT_EQ(Hits(QueryOf("alice", {1, 0})).at(0).memory.message_json, message);
  EXPECT_THAT(Found(QueryOf("alice", {1, 0})), ElementsAre("m"));
  EXPECT_THAT(Listed("alice"), ElementsAre("image", "m"));
  // It has no text to embed.
  EXPECT_THAT(client_->ListUnembedded(ListUnembeddedRequest{"test", 2, 100, {}})->memories,
              IsEmpty());
  UpdateMemoryRequest update;
  update.name = {ScopeOf("alice"), "image", ""};
  update.message_json = message;
  ASSERT_TRUE(memories().UpdateMemory(update).ok());
  EXPECT_EQ(kept("image"), message);
  update.message_json.clear();
  update.content = "text";
  ASSERT_TRUE(memories().UpdateMemory(update).ok());
  EXPECT_EQ(kept("image"), "");
}

// Rows of an older version lack this field.
TEST_P(MemoriesTest, BelongToTheirOwner) {
  Add("a", "alice", "alice's", {1, 0});
  Add("b", "bob", "bob's", {1, 0});
  Add("n", "", "nobody's", {1, 0});
  EXPECT_EQ(GetCode("bob", "a"), StatusCode::kNotFound);
  EXPECT_EQ(memories().DeleteMemory({Scope::Owner("bob"), "a", ""}).code(), StatusCode::kNotFound);
  UpdateMemoryRequest update;
  update.name = {Scope::Owner("bob"), "a", ""};
  update.content = "taken over";
  EXPECT_EQ(memories().UpdateMemory(update).code(), StatusCode::kNotFound);
  Result<RemovedMemories> removed =
      memories().RemoveMemories({Scope::Owner("bob"), {}, {"a", "b", "n"}});
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->count, 1u);
  EXPECT_THAT(Listed("alice"), ElementsAre("a"));
  EXPECT_THAT(Found(QueryOf("alice", {1, 0})), ElementsAre("a"));
  EXPECT_THAT(Found(QueryOf("bob", {1, 0})), IsEmpty());
  EXPECT_THAT(Listed(""), ElementsAre("n", "a"));
  EXPECT_THAT(Found(QueryOf("", {1, 0})), UnorderedElementsAre("a", "n"));
  // A scope with an empty user sees nothing, not even rows without an owner.
  EXPECT_EQ(memories().GetMemory({Scope::Owner(""), "n", ""}).status().code(),
            StatusCode::kNotFound);
  SearchMemoriesRequest nobody = QueryOf("", {1, 0});
  nobody.scope = Scope::Owner("");
  EXPECT_THAT(Found(nobody), IsEmpty());
}

TEST_P(MemoriesTest, OwnersWhoseNamesBeginAlikeAreKeptApart) {
  for (const std::string& user : {std::string("a"), std::string("a\0b", 3), std::string("ab")}) {
    Add("of " + user, user, "x", {1, 0});
  }
  EXPECT_THAT(Listed("a"), ElementsAre("of a"));
  EXPECT_THAT(Found(QueryOf("a", {1, 0})), ElementsAre("of a"));
  EXPECT_THAT(Found(QueryOf("ab", {1, 0})), ElementsAre("of ab"));
}

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

TEST_P(MemoriesTest, UpdatesMergeMetadataOrReplaceIt) {
  StoreMemoryRequest store = NewOf("m", "", "x", {1, 0});
  store.record.metadata_json = R"({"a":1,"b":{"c":2}})";
  Add(store);
  UpdateMemoryRequest update;
  update.name = {Scope::All(), "m", ""};
  update.content = "y";
  update.category = "other";
  update.metadata_json = R"({"a":null,"b":{"d":3}})";
  ASSERT_TRUE(memories().UpdateMemory(update).ok());
  Result<MemoryRecord> memory = memories().GetMemory({Scope::All(), "m", ""});
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->metadata_json, R"({"b":{"c":2,"d":3}})");
  EXPECT_EQ(memory->category, "other");
  EXPECT_GE(memory->updated_micros, memory->created_micros);
  update.replace_metadata = true;
  update.metadata_json = R"({"e":4})";
  ASSERT_TRUE(memories().UpdateMemory(update).ok());
  EXPECT_EQ(memories().GetMemory({Scope::All(), "m", ""})->metadata_json, R"({"e":4})");
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

TEST_P(MemoriesTest, PagesGoOnWhereTheyEndedWhateverIsWrittenMeanwhile) {
  for (int i = 0; i < 10; ++i) Add(Numbered("m", i), "alice", "x", {1, 0});
  for (const std::string user : {"alice", ""}) {
    std::vector<std::string> seen;
    std::string cursor;
    do {
      Result<MemoryPage> page = memories().ListMemories({ScopeOf(user), {}, 4, cursor});
      ASSERT_TRUE(page.ok());
      for (const MemoryRecord& memory : page->memories) seen.push_back(memory.id);
      cursor = page->next_cursor;
      Add("new " + std::to_string(seen.size()) + user, "alice", "x", {1, 0});
    } while (!cursor.empty());
    const auto first = std::find(seen.begin(), seen.end(), "m9");
    EXPECT_THAT(std::vector(first, seen.end()),
                ElementsAre("m9", "m8", "m7", "m6", "m5", "m4", "m3", "m2", "m1", "m0"));
  }
  EXPECT_EQ(memories().ListMemories({Scope::All(), {}, 4, "x"}).status().code(),
            StatusCode::kInvalidArgument);
}

// The limit counts all parts of a record, here the category.
TEST_P(MemoriesTest, AnswersAreBounded) {
  constexpr int kCount = 8;
  for (int i = 0; i < kCount; ++i) {
    StoreMemoryRequest store = NewOf(Numbered("m", i), "alice", "x", {1, 0});
    store.record.category = std::string(9 * 1024 * 1024, 'c');
    Add(store);
  }
  std::vector<std::string> seen;
  std::string cursor;
  do {
    Result<MemoryPage> page = memories().ListMemories({ScopeOf("alice"), {}, 100, cursor});
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    for (const MemoryRecord& memory : page->memories) seen.push_back(memory.id);
    cursor = page->next_cursor;
  } while (!cursor.empty());
  EXPECT_THAT(seen, SizeIs(kCount));
  EXPECT_THAT(Found(QueryOf("alice", {1, 0})), SizeIs(1));
}

TEST_P(MemoriesTest, IdsAreBounded) {
  EXPECT_EQ(memories().StoreMemory(NewOf("", "", "x", {1})).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(memories().StoreMemory(NewOf(std::string(1025, 'x'), "", "x", {1})).code(),
            StatusCode::kInvalidArgument);
}

TEST_P(MemoriesTakeover, FindsThemAndAppliesNothingTwice) {
  StoreMemoryRequest store;
  store.record.id = "m";
  store.record.content = "tea";
  store.embedding = VectorOf({1, 0});
  ASSERT_TRUE(client_->StoreMemory(store).ok());
  Restart();
  SearchMemoriesRequest search;
  search.embedding = VectorOf({1, 0});
  Result<MemoryHits> hits = client_->SearchMemories(search);
  ASSERT_TRUE(hits.ok()) << hits.status().ToString();
  EXPECT_THAT(hits->hits, SizeIs(1));
}

}  // namespace
}  // namespace agent_graph::state
