// Runs whose end was not stored: the state keeps what their entries have changed, as the end of the
// run would have stored it. If the run and a client changed the same field, the later change
// counts.
#include <gmock/gmock.h>

#include <thread>

#include "agent_graph/json.h"
#include "conformance.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Kind = FieldEffect::Kind;

class LostRunTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    worker_ = Connect();
  }

  void Begin() {
    if (worker_ == nullptr) worker_ = Connect();
    run_ = RunOn("t");
    Result<BeginRunReply> begun = worker_->BeginRun(run_, nullptr);
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    begun_ = *begun;
    entries_ = 0;
    Append({{"run_started", R"({"run_id":")" + run_.run_id + "\"}", 0}});
  }
  AppendRunRequest Next(std::vector<LogEntry> entries) {
    AppendRunRequest append = AppendOf(run_, begun_);
    append.first_entry = entries_;
    entries_ += entries.size();
    append.entries = std::move(entries);
    return append;
  }
  void Append(std::vector<LogEntry> entries, std::vector<StoredMessage> messages = {}) {
    AppendRunRequest append = Next(std::move(entries));
    append.messages = std::move(messages);
    const Result<AppendRunReply> reply = worker_->AppendRun(append);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  }
  LogEntry Changing(std::vector<FieldEffect> fields, uint64_t offset = 0) {
    for (FieldEffect& field : fields) field.position = entries_ + offset;
    return {"state_update", "{}", 0, StateEffect{.fields = std::move(fields)}};
  }
  // One append that changes fields.
  void Change(std::vector<FieldEffect> fields) { Append({Changing(std::move(fields))}); }
  void Summarize(std::optional<std::string> summary) {
    StateEffect effect{
        .summary_changed = true, .summary = std::move(summary), .summary_position = entries_};
    Append({{"state_update", "{}", 0, std::move(effect)}});
  }
  void Lose() {
    Leave(worker_);
    worker_ = nullptr;
    AwaitEnd();
  }
  void AwaitEnd() {
    while (StateOf("t").in_flight) std::this_thread::yield();
  }
  void Put(const std::string& fields_json) {
    PutStateRequest put = PutOn("t", "");
    put.fields_json = fields_json;
    const Result<ThreadState> state = service().PutState(put);
    ASSERT_TRUE(state.ok()) << state.status().ToString();
  }
  json Fields() { return json::parse(StateOf("t").snapshot.fields_json); }
  void ExpectLost() {
    const ThreadState state = StateOf("t");
    EXPECT_FALSE(state.in_flight);
    EXPECT_THAT(state.snapshot.execution_json, HasSubstr(R"("reason":"worker_lost")"));
  }

  Client* worker_ = nullptr;
  BeginRunRequest run_;
  BeginRunReply begun_;
  uint64_t entries_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, LostRunTest, testing::ValuesIn(AllSetups()), SetupName);

class LostRunTakeover : public LostRunTest {};
INSTANTIATE_TEST_SUITE_P(All, LostRunTakeover, testing::ValuesIn(LastingSetups()), SetupName);

FieldEffect Replace(std::string name, std::string value) {
  return {std::move(name), Kind::kReplace, std::move(value)};
}
FieldEffect AppendTo(std::string name, uint64_t length, std::string value) {
  return {std::move(name), Kind::kAppend, std::move(value), length};
}
FieldEffect Merge(std::string name, std::string value) {
  return {std::move(name), Kind::kMerge, std::move(value)};
}

TEST_P(LostRunTest, KeepsFieldsSummaryAndMessages) {
  Begin();
  Append({Changing({Replace("a", "1"), Replace("b", R"({"x":[1]})")})}, {UserMessage("m1")});
  Change({Replace("a", "2"), AppendTo("list", 0, R"(["x","y"])")});
  Change({AppendTo("list", 2, R"("z")"), Merge("map", R"({"k":1,"l":{"m":null}})")});
  Change({Merge("map", R"({"k":null,"l":{"n":2}})"), Merge("b", R"({"y":0})")});
  Summarize("short");
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"a":2,"b":{"x":[1],"y":0},"list":["x","y","z"],
                                      "map":{"l":{"n":2}}})"));
  EXPECT_EQ(StateOf("t").snapshot.summary, "short");
  EXPECT_THAT(Ids(StateOf("t").window), ElementsAre("m1"));
  ExpectLost();
}

TEST_P(LostRunTest, ContinuesTheFieldsThatItHasLoaded) {
  Put(R"({"list":[1,2],"map":{"a":1},"text":"x","other":true})");
  Begin();
  Change({AppendTo("list", 2, "[3]"), Merge("map", R"({"b":2})"), AppendTo("text", 1, "[\"y\"]")});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"list":[1,2,3],"map":{"a":1,"b":2},"text":["x","y"],
                                      "other":true})"));
  // The entries of one run are not folded again for the next one.
  Begin();
  Change({AppendTo("list", 3, "[4]")});
  Lose();
  EXPECT_EQ(Fields()["list"], json::parse("[1,2,3,4]"));
  Begin();
  Lose();
  EXPECT_EQ(Fields()["list"], json::parse("[1,2,3,4]"));
}

TEST_P(LostRunTest, TheLaterChangeOfAFieldCounts) {
  Begin();
  Change({Replace("early", R"("run")"), Replace("both", R"("run")")});
  Put(R"({"early":"put","both":"put","late":"put","own":"put"})");
  Change({Replace("both", R"("again")"), Replace("late", R"("run")")});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"early":"put","both":"again","late":"run","own":"put"})"));
}

TEST_P(LostRunTest, AppendsToTheListThatTheRunHasSeen) {
  Put(R"({"list":[1]})");
  Begin();
  Change({AppendTo("list", 1, "[2]")});
  Put(R"({"list":["put"]})");
  Put(R"({"list":["put again"]})");
  EXPECT_EQ(Fields()["list"], json::parse(R"(["put again"])"));
  Change({AppendTo("list", 2, "[3]")});
  Lose();
  EXPECT_EQ(Fields()["list"], json::parse("[1,2,3]"));
}

TEST_P(LostRunTest, AClearedStateKeepsWhatTheRunChangesLater) {
  Put(R"({"list":[1],"own":1})");
  Begin();
  Change({Replace("early", "1")});
  Summarize("early");
  ASSERT_TRUE(service().ClearState(Scope::All(), "t").ok());
  Change({AppendTo("list", 1, "[2]")});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"list":[1,2]})"));
  EXPECT_FALSE(StateOf("t").snapshot.summary);
}

TEST_P(LostRunTest, ASummaryThatIsClearedLaterStaysCleared) {
  Begin();
  Summarize("run");
  PutStateRequest put = PutOn("t", "");
  put.summary_present = true;
  put.summary = "put";
  ASSERT_TRUE(service().PutState(put).ok());
  Summarize(std::nullopt);
  Lose();
  EXPECT_FALSE(StateOf("t").snapshot.summary);
}

TEST_P(LostRunTest, AMessageThatIsDeletedStaysDeleted) {
  Begin();
  Append({Changing({Replace("a", "1")})}, {UserMessage("m1"), AssistantMessage("m2")});
  ASSERT_TRUE(service().DeleteMessage(Scope::All(), "t", "m2").ok());
  Change({Replace("b", "2")});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"a":1,"b":2})"));
  EXPECT_THAT(Ids(StateOf("t").window), ElementsAre("m1"));
}

TEST_P(LostRunTest, ACompleteEffectReplacesTheEarlierOnes) {
  Put(R"({"list":["loaded"]})");
  Begin();
  Change({AppendTo("list", 1, "[1]"), Replace("gone", "1")});
  LogEntry complete = Changing({Replace("list", R"(["loaded",1,2])")});
  complete.effect->complete = true;
  Append({complete});
  Change({AppendTo("list", 3, "[3]")});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"list":["loaded",1,2,3]})"));
}

TEST_P(LostRunTest, AListOfAnotherLengthStaysAsItIsStored) {
  Put(R"({"list":["loaded"]})");
  Begin();
  Change({AppendTo("list", 5, "[1]"), Replace("a", "1")});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"list":["loaded"],"a":1})"));
}

TEST_P(LostRunTest, EntriesWithoutEffectsChangeNothing) {
  Put(R"({"a":"stored"})");
  Begin();
  Append({{"state_update", R"({"node":"A","updates":[{"field":"a","value":1}]})", 0}});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"a":"stored"})"));
  ExpectLost();
}

TEST_P(LostRunTest, AnAppendThatIsRepeatedCountsOnce) {
  Begin();
  AppendRunRequest append = Next({Changing({AppendTo("list", 0, "[1]")})});
  ASSERT_TRUE(worker_->AppendRun(append).ok());
  // A worker that got no answer repeats the request with further entries.
  append.entries.push_back(Changing({AppendTo("list", 1, "[2]")}));
  ++entries_;
  ASSERT_TRUE(worker_->AppendRun(append).ok());
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"list":[1,2]})"));
}

TEST_P(LostRunTest, AnEndThatWasNotStoredKeepsThemToo) {
  Begin();
  Change({Replace("a", "1")});
  FinishRunRequest finish = FinishOf(run_, begun_);
  finish.append.messages = {MessageOf("", "user", "no id")};  // refused: the lease is released
  EXPECT_FALSE(worker_->FinishRun(finish).ok());
  AwaitEnd();
  EXPECT_EQ(Fields(), json::parse(R"({"a":1})"));
  EXPECT_THAT(StateOf("t").snapshot.execution_json, HasSubstr("end_not_stored"));
}

TEST_P(LostRunTakeover, TheNextStateServerFoldsThem) {
  Put(R"({"list":[1]})");
  Begin();
  Change({AppendTo("list", 1, "[2]")});
  Put(R"({"list":[],"own":1})");
  Restart();
  Change({AppendTo("list", 2, "[3]"), Replace("late", "1")});
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"list":[1,2,3],"own":1,"late":1})"));
}

TEST_P(LostRunTakeover, AlsoWithoutFurtherEntries) {
  Begin();
  Change({Replace("a", "1")});
  Restart();
  ASSERT_TRUE(worker_->GetState(Scope::All(), "t").ok());  // connected again
  Lose();
  EXPECT_EQ(Fields(), json::parse(R"({"a":1})"));
}

}  // namespace
}  // namespace agent_graph::state
