// Memories that nodes store and find.
#include <future>
#include <map>
#include <set>
#include <string>

#include "../../state/recorded_memories.h"
#include "../run_fixture.h"
#include "agent_graph/error.h"
#include "memory/memory_store.h"
#include "message/codec.h"
#include "run/nodes/user_context.h"
#include "state/limits.h"

namespace agent_graph::run {
namespace {

class RunMemoriesTest : public RunTest {
 protected:
  RunMemoriesTest()
      : embedder_(memory::MakeEmbedder({}, {}).value()), store_(memories_, *embedder_) {
    options_.services.memories = &store_;
    builder_.AddFunction("A", [this](const State&, RunContext& context) -> NodeResult {
      work_(context.memories());
      return {};
    });
    builder_.AddEdge(START, "A");
  }

  // Runs `work` in a node; returns the text of the run's error.
  std::string With(std::function<void(MemoryAccess&)> work, const std::string& user = "") {
    work_ = std::move(work);
    RunRequest request = Ask("hi");
    request.user_id = user;
    return RunOk(request).error.message();
  }
  std::string StoreProblem(const NewMemory& memory) {
    memories_.stored = {};
    const std::string problem = With([&](MemoryAccess& access) { access.Store(memory); });
    EXPECT_EQ(memories_.stored.record.id.empty(), !problem.empty());
    return problem;
  }

  state::RecordedMemories memories_;
  std::unique_ptr<memory::Embedder> embedder_;
  memory::MemoryStore store_;
  std::function<void(MemoryAccess&)> work_;
};

TEST_F(RunMemoriesTest, WhatARepeatedFunctionStoresAgainIsStoredOnce) {
  builder_.SetRetry("A", {.attempts_max = 2, .delay = std::chrono::milliseconds(1)});
  std::vector<std::string> ids;
  const auto store_and_fail = [&](MemoryAccess& access) {
    for (const char* text : {"tea", "tea", "cake"}) ids.push_back(access.Store({.content = text}));
    // From now on the store has them.
    memories_.failure = Status(StatusCode::kConflict, "a memory with this id exists");
    if (ids.size() == 3) throw std::runtime_error("boom");
  };
  EXPECT_EQ(With(store_and_fail), "");
  ASSERT_EQ(ids.size(), 6u);
  EXPECT_EQ(std::vector<std::string>(ids.begin(), ids.begin() + 3),
            std::vector<std::string>(ids.begin() + 3, ids.end()));
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[1], ids[2]);
  const std::string first = ids[0];
  memories_.failure = {};
  ids = {"", "", ""};
  EXPECT_EQ(With(store_and_fail), "");
  EXPECT_NE(ids[3], first) << "another run stores a memory of its own";
}

TEST_F(RunMemoriesTest, ARepeatedFunctionMayStoreInAnotherOrderOrLeaveOneOut) {
  builder_.SetRetry("A", {.attempts_max = 3, .delay = std::chrono::milliseconds(1)});
  std::map<std::string, std::set<std::string>> ids;
  std::vector<std::vector<const char*>> orders = {{"tea", "cake"}, {"cake", "tea"}, {"cake"}};
  const auto store_and_fail = [&](MemoryAccess& access) {
    for (const char* text : orders.front()) ids[text].insert(access.Store({.content = text}));
    orders.erase(orders.begin());
    if (!orders.empty()) throw std::runtime_error("boom");
  };
  EXPECT_EQ(With(store_and_fail), "");
  EXPECT_EQ(ids["tea"].size(), 1u);
  EXPECT_EQ(ids["cake"].size(), 1u);
}

// A client may decide that a later run makes the call again.
TEST_F(RunMemoriesTest, ACallThatALaterRunRepeatsStoresOnce) {
  std::set<std::string> ids;
  for (const char* run : {"r1", "r2"}) {
    auto environment = std::make_shared<RunEnvironment>();
    environment->services = std::make_shared<const RunServices>(options_.services);
    environment->thread_id = "t1";
    environment->run_id = run;
    std::promise<void> stored;
    runtime_.Spawn([&] {
      CallContext context(environment, "TOOLS", "c1", "key", kNoDeadline, nullptr);
      ids.insert(context.memories().Store({.content = "tea"}));
      stored.set_value();
    });
    stored.get_future().wait();
  }
  EXPECT_EQ(ids.size(), 1u);
}

TEST_F(RunMemoriesTest, RunsOfOtherUsersAndThreadsMayHaveTheSameId) {
  std::set<std::string> ids;
  work_ = [&](MemoryAccess& access) { ids.insert(access.Store({.content = "tea"})); };
  for (const char* user : {"alice", "bob"}) {
    for (const char* thread : {"t1", "t2"}) {
      RunRequest request = Ask("hi");
      request.user_id = user;
      request.thread_id = thread;
      request.run_id = "run-1";
      EXPECT_EQ(RunOk(request).error.message(), "");
    }
  }
  EXPECT_EQ(ids.size(), 4u);
}

TEST_F(RunMemoriesTest, AMemoryBelongsToUserAndThread) {
  std::string id;
  EXPECT_EQ(With(
                [&](MemoryAccess& access) {
                  id = access.Store({.content = "tea",
                                     .memory_type = "semantic",
                                     .category = "taste",
                                     .agent_id = "helper",
                                     .metadata_json = R"( {"a": 1} )"});
                },
                "alice"),
            "");
  const state::MemoryRecord& record = memories_.stored.record;
  EXPECT_EQ(record.id, id);
  EXPECT_EQ(record.content, "tea");
  EXPECT_EQ(record.memory_type, "semantic");
  EXPECT_EQ(record.category, "taste");
  EXPECT_EQ(record.agent_id, "helper");
  EXPECT_EQ(record.thread_id, "t1");
  EXPECT_EQ(record.owner, "alice");
  EXPECT_EQ(record.metadata_json, R"({"a":1})");
  EXPECT_EQ(record.message_json, "");
  EXPECT_EQ(memories_.stored.scope.kind, state::Scope::Kind::kOwner);
  EXPECT_EQ(memories_.stored.scope.user_id, "alice");
  EXPECT_EQ(With([](MemoryAccess& access) { access.Store({.content = "tea"}); }), "");
  EXPECT_EQ(memories_.stored.scope.kind, state::Scope::Kind::kAll);
  EXPECT_EQ(memories_.stored.record.memory_type, "episodic");
  EXPECT_EQ(memories_.stored.record.category, "general");
}

TEST_F(RunMemoriesTest, AMessageIsStoredWithItsText) {
  NewMemory memory;
  memory.content = "ignored";
  memory.message = Message::Assistant("green tea");
  EXPECT_EQ(StoreProblem(memory), "");
  EXPECT_EQ(memories_.stored.record.content, "green tea");
  EXPECT_EQ(json::parse(memories_.stored.record.message_json).at("role"), "assistant");
  memory.message->content = {MediaBlock{}};
  EXPECT_EQ(StoreProblem(memory), "") << "an image needs no text";
  memory.message->content.clear();
  EXPECT_EQ(StoreProblem(memory),
            "node \"A\" failed: a memory must hold text or a message with content");
}

TEST_F(RunMemoriesTest, WhatCannotBeStoredIsAnErrorOfTheNode) {
  const std::string node = "node \"A\" failed: ";
  EXPECT_EQ(StoreProblem({}), node + "a memory must hold text or a message with content");
  EXPECT_EQ(StoreProblem({.content = "x", .memory_type = "odd"}),
            node + "memory_type \"odd\" is unknown");
  for (const char* metadata : {"[1]", "{", "null"}) {
    EXPECT_EQ(StoreProblem({.content = "x", .metadata_json = metadata}),
              node + "metadata must be an object");
  }
  const std::string longest(state::kIdBytesMax, 'i');
  EXPECT_EQ(StoreProblem({.content = "x", .category = longest, .agent_id = longest}), "");
  for (const NewMemory& memory : {NewMemory{.content = "x", .category = longest + "i"},
                                  NewMemory{.content = "x", .agent_id = longest + "i"}}) {
    EXPECT_EQ(StoreProblem(memory), node + "category and agent_id must have at most 1024 bytes");
  }
  const size_t mebibyte = 1024 * 1024;
  EXPECT_EQ(StoreProblem({.content = std::string(mebibyte - 2, 'x')}), "");
  EXPECT_EQ(StoreProblem({.content = std::string(mebibyte - 1, 'x')}),
            node + "a memory must have at most 1048576 bytes");
}

TEST_F(RunMemoriesTest, ASearchPassesItsFieldsOn) {
  state::MemoryHit hit;
  hit.memory.id = "m1";
  hit.memory.owner = "alice";
  hit.memory.agent_id = "helper";
  hit.memory.content = "tea";
  hit.memory.memory_type = "semantic";
  hit.memory.category = "taste";
  hit.memory.metadata_json = R"({"a":1})";
  hit.memory.created_micros = 1'500'000;
  hit.score = 0.5;
  memories_.found.hits = {hit, hit};
  memories_.found.hits[1].memory.message_json = message::ToJsonText(Message::User("tea"));
  std::vector<FoundMemory> found;
  EXPECT_EQ(With([&](MemoryAccess& access) {
              found = access.Search({.query = "which tea",
                                     .memory_type = "semantic",
                                     .category = "taste",
                                     .agent_id = "helper",
                                     .strategy = "hybrid",
                                     .limit = 3,
                                     .score_min = 0.25});
            }),
            "");
  EXPECT_EQ(memories_.searched.query, "which tea");
  EXPECT_EQ(memories_.searched.ranking, state::Ranking::kHybrid);
  EXPECT_EQ(memories_.searched.limit, 3u);
  EXPECT_EQ(memories_.searched.score_min, 0.25);
  std::map<std::string, std::string> filter;
  for (const state::FieldEquals& equals : memories_.searched.filter.equals) {
    filter[equals.key] = equals.json;
  }
  EXPECT_EQ(filter, (std::map<std::string, std::string>{{"memory_type", "\"semantic\""},
                                                        {"category", "\"taste\""},
                                                        {"agent_id", "\"helper\""}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, "m1");
  EXPECT_EQ(found[0].user_id, "alice");
  EXPECT_EQ(found[0].agent_id, "helper");
  EXPECT_EQ(found[0].content, "tea");
  EXPECT_EQ(found[0].memory_type, "semantic");
  EXPECT_EQ(found[0].category, "taste");
  EXPECT_EQ(found[0].metadata_json, R"({"a":1})");
  EXPECT_EQ(found[0].timestamp, 1.5);
  EXPECT_EQ(found[0].score, 0.5);
  EXPECT_FALSE(found[0].message);
  ASSERT_TRUE(found[1].message);
  EXPECT_EQ(found[1].message->Text(), "tea");
}

TEST_F(RunMemoriesTest, ASearchHasDefaultsAndALimit) {
  EXPECT_EQ(With([](MemoryAccess& access) { access.Search({.query = "x"}); }), "");
  EXPECT_EQ(memories_.searched.limit, 10u);
  EXPECT_EQ(memories_.searched.ranking, state::Ranking::kVector);
  EXPECT_FALSE(memories_.searched.score_min);
  EXPECT_TRUE(memories_.searched.filter.equals.empty());
  EXPECT_EQ(With([](MemoryAccess& access) { access.Search({.query = "x", .limit = 5000}); }), "");
  EXPECT_EQ(memories_.searched.limit, 1000u);
  EXPECT_EQ(With([](MemoryAccess& access) { access.Search({.query = "x", .strategy = "magic"}); }),
            "node \"A\" failed: strategy \"magic\" is unknown");
}

TEST_F(RunMemoriesTest, AMemoryThatIsNotThereIsNoError) {
  memories_.record.content = "tea";
  std::optional<MemoryRecord> record;
  bool deleted = false;
  const auto get_and_delete = [&](MemoryAccess& access) {
    record = access.Get("m1");
    deleted = access.Delete("m1");
  };
  EXPECT_EQ(With(get_and_delete, "alice"), "");
  EXPECT_EQ(record->content, "tea");
  EXPECT_TRUE(deleted);
  EXPECT_EQ(memories_.named.id, "m1");
  EXPECT_EQ(memories_.named.scope.user_id, "alice");
  memories_.failure = Status(StatusCode::kNotFound, "memory not found");
  EXPECT_EQ(With(get_and_delete), "");
  EXPECT_FALSE(record);
  EXPECT_FALSE(deleted);
}

TEST_F(RunMemoriesTest, FailuresAreExceptions) {
  const std::vector<std::function<void(MemoryAccess&)>> calls = {
      [](MemoryAccess& access) { access.Store({.content = "x"}); },
      [](MemoryAccess& access) { access.Search({.query = "x"}); },
      [](MemoryAccess& access) { access.Get("m1"); },
      [](MemoryAccess& access) { access.Delete("m1"); },
  };
  for (const auto& call : calls) {
    memories_.failure = Status(StatusCode::kUnavailable, "no state");
    EXPECT_EQ(With([&](MemoryAccess& access) { EXPECT_THROW(call(access), MemoryError); }), "");
    memories_.failure = Status(StatusCode::kCancelled, "cancelled");
    EXPECT_EQ(With([&](MemoryAccess& access) { EXPECT_THROW(call(access), RunCancelled); }), "");
  }
  options_.services.memories = nullptr;
  EXPECT_EQ(With(calls[0]), "node \"A\" failed: no memory store is configured");
}

}  // namespace
}  // namespace agent_graph::run
