// Changes of a thread's state from outside while a run is in flight: the later one of two changes
// of a field counts, and the run does not bring back messages of a context that was cleared.
#include <gmock/gmock.h>

#include "agent_graph/json.h"
#include "conformance.h"
#include "message/codec.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kRunsOwn[] = R"({"early":"run","both":"run","late":"run"})";

StoredMessage Calling(const std::string& id, const std::string& call) {
  Message message = Message::Assistant("");
  message.id = id;
  message.content = {ToolCallBlock{call, "charge", "{}", false}};
  return {id, 0, message::ToJsonText(message)};
}
StoredMessage ResultOf(const std::string& id, const std::string& call) {
  Message message = Message::ToolResult(call, "1");
  message.id = id;
  return {id, 0, message::ToJsonText(message)};
}

class OutsideChangeTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    other_ = Connect();
  }
  void Begin() {
    run_ = RunOn("t");
    Result<BeginRunReply> begun = client_->BeginRun(run_, nullptr);
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    begun_ = *begun;
  }
  // `count` further entries of the run, with these messages.
  void Append(size_t count, std::vector<StoredMessage> messages = {}) {
    AppendRunRequest append = AppendOf(run_, begun_, std::move(messages));
    append.first_entry = entries_;
    append.entries.resize(count, {"state_update", "{}", 0});
    entries_ += count;
    ASSERT_TRUE(client_->AppendRun(append).ok());
  }
  // The run has changed the fields `early` in its entry 0, `both` in 0 and 2, `late` in 2, and the
  // summary in 1.
  void Finish(std::vector<StoredMessage> messages = {}) {
    FinishRunRequest finish = FinishOf(run_, begun_, std::move(messages));
    finish.append.first_entry = entries_;
    finish.snapshot.fields_json = kRunsOwn;
    finish.snapshot.summary = "run";
    finish.changed_fields = {"early", "both", "late"};
    finish.changed_at = {0, 2, 2};
    finish.summary_changed = true;
    finish.summary_changed_at = 1;
    finish.snapshot.execution_json = execution_;
    finish.open_calls = open_calls_;
    ASSERT_TRUE(client_->FinishRun(finish).ok());
  }
  void Put(const std::string& fields_json) {
    PutStateRequest put = PutOn("t", "");
    put.fields_json = fields_json;
    put.summary_present = true;
    put.summary = "put";
    ASSERT_TRUE(other_->PutState(put).ok());
  }
  ThreadState State() {
    Result<ThreadState> state = other_->GetState(Scope::All(), "t");
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return state.ok() ? *state : ThreadState();
  }
  json Fields() { return json::parse(State().snapshot.fields_json); }
  std::vector<std::string> History() {
    return Ids(other_->ListMessages(Scope::All(), "t", {})->messages);
  }

  Client* other_ = nullptr;
  BeginRunRequest run_;
  BeginRunReply begun_;
  uint64_t entries_ = 0;
  std::string execution_ = R"({"current_node":"END","step":1,"status":"completed"})";
  std::vector<OpenCall> open_calls_;
};
INSTANTIATE_TEST_SUITE_P(All, OutsideChangeTest, testing::ValuesIn(AllSetups()), SetupName);

class OutsideChangeTakeover : public OutsideChangeTest {};
INSTANTIATE_TEST_SUITE_P(All, OutsideChangeTakeover, testing::ValuesIn(LastingSetups()), SetupName);

TEST_P(OutsideChangeTest, TheLaterChangeOfAFieldCounts) {
  Begin();
  Append(2);
  Put(R"({"early":"put","both":"put","late":"put","own":"put"})");
  Append(1);
  Finish();
  EXPECT_EQ(Fields(), json::parse(R"({"early":"put","both":"run","late":"run","own":"put"})"));
  EXPECT_EQ(State().snapshot.summary, "put");
}

TEST_P(OutsideChangeTest, OneBeforeTheFirstEntryIsOlder) {
  Begin();
  Put(R"({"early":"put","both":"put","late":"put"})");
  Append(3);
  Finish();
  EXPECT_EQ(Fields(), json::parse(kRunsOwn));
  EXPECT_EQ(State().snapshot.summary, "run");
}

TEST_P(OutsideChangeTest, OneBehindTheLastEntryIsNewer) {
  Begin();
  Append(3);
  Put(R"({"early":"put","both":null,"late":{"deep":[]}})");
  Finish();
  EXPECT_EQ(Fields(), json::parse(R"({"early":"put","late":{"deep":[]}})"));
}

TEST_P(OutsideChangeTest, EntriesThatAreStillWithTheRunAreNewer) {
  Begin();
  Append(1);
  Put(R"({"early":"put","both":"put"})");
  // Entries 1 and 2 come with the end.
  Finish();
  EXPECT_EQ(Fields(), json::parse(R"({"early":"put","both":"run","late":"run"})"));
}

TEST_P(OutsideChangeTest, AWorkerOfAnotherBuildOverwrites) {
  Begin();
  Append(3);
  Put(R"({"early":"put","own":"put"})");
  FinishRunRequest finish = FinishOf(run_, begun_);
  finish.snapshot.fields_json = kRunsOwn;
  finish.changed_fields = {"early"};
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  EXPECT_EQ(Fields(), json::parse(R"({"early":"run","own":"put"})"));
}

TEST_P(OutsideChangeTakeover, KeepsTheOrder) {
  Begin();
  Append(2);
  Put(R"({"early":"put","both":"put"})");
  Restart();
  Append(1);
  Finish();
  EXPECT_EQ(Fields(), json::parse(R"({"early":"put","both":"run","late":"run"})"));
  // These changes do not affect the next run.
  Begin();
  entries_ = 0;
  Append(3);
  Finish();
  EXPECT_EQ(Fields(), json::parse(kRunsOwn));
}

TEST_P(OutsideChangeTest, AClearedStateKeepsWhatTheRunChangesLater) {
  Begin();
  Append(2);
  Put(R"({"late":"put","own":"put"})");
  ASSERT_TRUE(other_->ClearState(Scope::All(), "t").ok());
  Append(1);
  Finish();
  EXPECT_EQ(Fields(), json::parse(R"({"both":"run","late":"run"})"));
  EXPECT_FALSE(State().snapshot.summary);
}

TEST_P(OutsideChangeTest, AClearedContextStaysWithoutAnswersAndResults) {
  Begin();
  Append(1, {UserMessage("question"), Calling("call", "c1")});
  ASSERT_TRUE(other_->ClearState(Scope::All(), "t").ok());
  Append(1, {ResultOf("result", "c1")});
  EXPECT_THAT(Ids(State().window), IsEmpty());
  Finish({AssistantMessage("answer")});
  EXPECT_THAT(Ids(State().window), IsEmpty());
  EXPECT_THAT(History(), ElementsAre("question", "call", "result", "answer"));
  RunTurn(*client_, "t", "", {UserMessage("next"), AssistantMessage("hi")});
  EXPECT_THAT(Ids(State().window), ElementsAre("next", "hi"));
}

TEST_P(OutsideChangeTest, SoDoesOneThatIsPutToNull) {
  Begin();
  Append(1, {UserMessage("question")});
  PutStateRequest put = PutOn("t", "");
  put.context_cleared = true;
  put.messages = {UserMessage("put")};
  ASSERT_TRUE(other_->PutState(put).ok());
  ASSERT_TRUE(other_->AppendMessages(MessagesOn("t", "", {UserMessage("posted")})).ok());
  Finish({AssistantMessage("answer")});
  EXPECT_THAT(Ids(State().window), ElementsAre("put", "posted"));
}

TEST_P(OutsideChangeTest, ANewContextBeginsWithTheNextWordsOfTheUser) {
  Begin();
  Append(1, {UserMessage("old"), Calling("old call", "c1")});
  ASSERT_TRUE(other_->ClearState(Scope::All(), "t").ok());
  Append(1, {UserMessage("new"), ResultOf("old result", "c1"), Calling("new call", "c2")});
  Append(1, {ResultOf("new result", "c2"), AssistantMessage("answer")});
  Finish();
  EXPECT_THAT(Ids(State().window), ElementsAre("new", "new call", "new result", "answer"));
}

TEST_P(OutsideChangeTakeover, KeepsTheClearedContext) {
  Begin();
  Append(1, {UserMessage("question")});
  ASSERT_TRUE(other_->ClearState(Scope::All(), "t").ok());
  Restart();
  Finish({AssistantMessage("answer")});
  EXPECT_THAT(Ids(State().window), IsEmpty());
}

TEST_P(OutsideChangeTest, ARunDoesNotPauseAContextThatIsGone) {
  for (const bool calls : {false, true}) {
    Begin();
    Append(1, {UserMessage("question"), Calling("call", "c1")});
    ASSERT_TRUE(other_->ClearState(Scope::All(), "t").ok());
    execution_ = R"({"current_node":"PAY","step":1,"status":"interrupted_before"})";
    if (calls) open_calls_ = {{"c1", false, {"call"}}};
    Finish();
    EXPECT_EQ(json::parse(State().snapshot.execution_json)["status"], "completed");
    entries_ = 0;
    ASSERT_TRUE(other_->DeleteThread(Scope::All(), "t").ok());
  }
}

}  // namespace
}  // namespace agent_graph::state
