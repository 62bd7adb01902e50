// Conformance suite of state::Memories: every implementation must pass it.
#include "state/memories.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "conformance.h"
#include "memories_fixture.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

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
