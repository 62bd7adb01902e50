// Results of the retrieval strategies for given search results.
#include "memory/memory_store.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>

#include "message/codec.h"
#include "message/texts.h"

namespace agent_graph::memory {
namespace {

using testing::ElementsAre;

// Finds the memories in `found` and reads those in `kept`.
class FoundMemories final : public state::Memories {
 public:
  Status StoreMemory(const state::StoreMemoryRequest& store) override {
    stored = store.embedding;
    return Status::Ok();
  }
  Status UpdateMemory(const state::UpdateMemoryRequest& update) override {
    stored = update.embedding;
    return Status::Ok();
  }
  Status DeleteMemory(const state::MemoryName&) override { return Status::Ok(); }
  Result<state::MemoryPage> ListMemories(const state::ListMemoriesRequest&) override {
    return state::MemoryPage();
  }
  Result<state::RemovedMemories> RemoveMemories(const state::RemoveMemoriesRequest&) override {
    return state::RemovedMemories();
  }
  Result<state::MemoryHits> SearchMemories(const state::SearchMemoriesRequest& search) override {
    searched = search;
    return found;
  }
  Result<state::MemoryRecord> GetMemory(const state::MemoryName& name) override {
    const auto record = kept.find(name.id);
    if (record == kept.end()) return Status(StatusCode::kNotFound, "memory not found");
    return record->second;
  }

  state::Embedding stored;                // argument of the last call
  state::SearchMemoriesRequest searched;  // argument of the last call
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

// Half of a negative score would be a better score.
TEST_F(RelatedMemories, NeverStandBeforeTheHitThatNamesThem) {
  memories_.kept["related"] = Memory("related");
  memories_.found.hits = {{Memory("first", "related"), -1.0}, {Memory("second"), -4.0}};
  EXPECT_THAT(Search(10), ElementsAre("first", "related", "second"));
  EXPECT_THAT(Search(1), ElementsAre("first"));
}

// The state server compares vectors in the other searches; a text may be large.
TEST_F(RelatedMemories, TheTextIsSentOnlyIfItsWordsAreCompared) {
  MemoryStore store(memories_, *embedder_);
  const runtime::Cancellation cancellation;
  for (const Strategy strategy : {Strategy::kSimilarity, Strategy::kTemporal, Strategy::kRelevance,
                                  Strategy::kHybrid, Strategy::kGraphTraversal}) {
    MemoryQuery query;
    query.text = "tea";
    query.strategy = strategy;
    ASSERT_TRUE(store.Search({}, query, {cancellation}).ok());
    const bool by_words = strategy == Strategy::kRelevance || strategy == Strategy::kHybrid;
    EXPECT_EQ(memories_.searched.query, by_words ? "tea" : "");
  }
}

class MessageMemories : public RelatedMemories {
 protected:
  static constexpr char kMessage[] =
      R"({"role":"assistant","content":[{"type":"text","text":"12345"},)"
      R"({"type":"image","file_id":"f"},{"type":"text","text":"6\u00e489"},)"
      R"({"type":"text","text":"0"}]})";

  static state::MemoryRecord OfMessage(const std::string& id) {
    state::MemoryRecord record = Memory(id);
    const Message message = message::FromJsonText(kMessage).value();
    record.content = message::JoinedTexts(message);
    record.message_json = message::ToJsonText(message);
    return record;
  }
  std::vector<state::MemoryHit> Search(uint64_t tokens_max) {
    MemoryStore store(memories_, *embedder_);
    MemoryQuery query;
    query.text = "anything";
    query.tokens_max = tokens_max;
    return store.Search({}, query, {never_}).value();
  }

  const runtime::Cancellation never_;
};

TEST_F(MessageMemories, AreEmbeddedByTheirText) {
  MemoryStore store(memories_, *embedder_);
  NewMemory memory{.content = "tea", .message_json = kMessage};
  ASSERT_TRUE(store.Store({}, memory, {never_}).ok());
  EXPECT_EQ(memories_.stored.space, embedder_->space());
  EXPECT_FALSE(memories_.stored.values.empty());
  memory.content = " \n";
  ASSERT_TRUE(store.Store({}, memory, {never_}).ok());
  EXPECT_TRUE(memories_.stored.values.empty());
  MemoryChange change{.content = "", .message_json = kMessage};
  ASSERT_TRUE(store.Update({}, "m", change, {never_}).ok());
  EXPECT_TRUE(memories_.stored.values.empty());
}

// Text above the budget is cut at the end; other blocks are kept.
TEST_F(MessageMemories, AreTruncatedLikeTexts) {
  memories_.found.hits = {{OfMessage("one"), 1}, {OfMessage("two"), 0.5}};
  EXPECT_EQ(Search(8).size(), 2u);
  EXPECT_EQ(Search(8)[0].memory.message_json, OfMessage("one").message_json);
  EXPECT_EQ(Search(7).size(), 1u);
  EXPECT_EQ(Search(7)[0].memory.message_json, OfMessage("one").message_json);
  const state::MemoryRecord cut = Search(2).at(0).memory;
  EXPECT_EQ(cut.content, "12345\n6") << "no part of a character";
  const Message message = message::FromJsonText(cut.message_json).value();
  EXPECT_EQ(message::JoinedTexts(message), cut.content);
  EXPECT_EQ(message.content.size(), 4u);
  EXPECT_EQ(message.role, Role::kAssistant);
  EXPECT_EQ(Search(1)[0].memory.content, "1234");
}

}  // namespace
}  // namespace agent_graph::memory
