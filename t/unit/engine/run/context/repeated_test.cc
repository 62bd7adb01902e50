// Requests that are sent again because their answer was lost: what they bring is not stored twice.
#include <gmock/gmock.h>

#include "../run_fixture.h"
#include "message/codec.h"
#include "run/context/execution_meta.h"
#include "run/context/repeated_messages.h"

namespace agent_graph::run {
namespace {

using testing::ElementsAre;

Message Named(Message message, const std::string& id) {
  message.id = id;
  return message;
}

class RepeatedTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    builder_.AddFunction("A", [this](const State& state, RunContext&) -> NodeResult {
      ++calls_;
      if (fail_) throw std::runtime_error("boom");
      return Message::Assistant("re: " + state.LastUserText());
    });
    builder_.AddEdge(START, "A");
  }
  RunRequest AskAs(const std::string& id, const std::string& text) {
    RunRequest request = Ask(text);
    request.messages[0].id = id;
    return request;
  }
  static std::vector<std::string> Texts(const RunOutcome& outcome) {
    std::vector<std::string> texts;
    for (const json& message : json::parse(outcome.messages_json)) {
      texts.push_back(TextOf(message));
    }
    return texts;
  }

  int calls_ = 0;
  bool fail_ = false;
};

TEST_F(RepeatedTest, AMessageOfAFailedRunIsStoredOnce) {
  fail_ = true;
  EXPECT_EQ(RunOk(AskAs("m1", "hi")).status, RunStatus::kError);
  fail_ = false;
  EXPECT_THAT(Texts(RunOk(AskAs("m1", "hi"))), ElementsAre("hi", "re: hi"));
  EXPECT_EQ(calls_, 2);
}

TEST_F(RepeatedTest, AnAnsweredRequestIsAnsweredAgain) {
  RunOk(AskAs("m1", "hi"));
  sink_.events.clear();
  const RunOutcome again = RunOk(AskAs("m1", "hi"));
  EXPECT_EQ(again.status, RunStatus::kDone);
  EXPECT_THAT(Texts(again), ElementsAre("hi", "re: hi"));
  EXPECT_EQ(calls_, 1);
  const auto emitted = sink_.Of(RunEvent::Kind::kMessage);
  ASSERT_EQ(emitted.size(), 1u);
  EXPECT_EQ(TextOf(emitted[0]), "re: hi");
  EXPECT_EQ(json::parse(again.state_json).at("execution_meta").at("current_node"), "END");
}

TEST_F(RepeatedTest, AnotherMessageOfThatIdIsAnotherMessage) {
  RunOk(AskAs("m1", "hi"));
  EXPECT_THAT(Texts(RunOk(AskAs("m1", "ho"))), ElementsAre("hi", "re: hi", "ho", "re: ho"));
}

TEST_F(RepeatedTest, AMessageWithoutAnIdIsNewEachTime) {
  RunOk(Ask("hi"));
  EXPECT_EQ(json::parse(RunOk(Ask("hi")).messages_json).size(), 4u);
}

TEST_F(RepeatedTest, NewMessagesBesideRepeatedOnesAreTheInput) {
  RunOk(AskAs("m1", "hi"));
  RunRequest whole = AskAs("m1", "hi");
  whole.messages.push_back(Named(Message::User("ho"), "m2"));
  EXPECT_THAT(Texts(RunOk(whole)), ElementsAre("hi", "re: hi", "ho", "re: ho"));
}

TEST_F(RepeatedTest, AfterAnotherTurnItGetsItsOwnAnswer) {
  RunOk(AskAs("m1", "hi"));
  RunOk(AskAs("m2", "ho"));
  sink_.events.clear();
  EXPECT_THAT(Texts(RunOk(AskAs("m1", "hi"))), ElementsAre("hi", "re: hi", "ho", "re: ho"));
  const auto emitted = sink_.Of(RunEvent::Kind::kMessage);
  ASSERT_EQ(emitted.size(), 1u);
  EXPECT_EQ(TextOf(emitted[0]), "re: hi");
  EXPECT_EQ(calls_, 2);
}

TEST_F(RepeatedTest, AfterAnotherTurnItIsAskedIfItHadNoAnswer) {
  fail_ = true;
  RunOk(AskAs("m1", "hi"));
  fail_ = false;
  RunOk(AskAs("m2", "ho"));
  EXPECT_THAT(Texts(RunOk(AskAs("m1", "hi"))), ElementsAre("hi", "ho", "re: ho", "re: ho"));
}

TEST_F(RepeatedTest, ARepetitionOfAnOlderTurnLeavesTheLatestAsItIs) {
  RunOk(AskAs("m1", "hi"));
  fail_ = true;
  EXPECT_EQ(RunOk(AskAs("m2", "ho")).status, RunStatus::kError);
  EXPECT_EQ(RunOk(AskAs("m1", "hi")).status, RunStatus::kDone);
  fail_ = false;
  EXPECT_THAT(Texts(RunOk(AskAs("m2", "ho"))), ElementsAre("hi", "re: hi", "ho", "re: ho"));
}

TEST_F(RepeatedTest, ARepetitionOfAnOlderTurnDoesNotEndAPause) {
  RunOk(AskAs("m1", "hi"));
  builder_.InterruptBefore({"A"});
  EXPECT_EQ(RunOk(AskAs("m2", "ho")).status, RunStatus::kInterrupted);
  RunOk(AskAs("m1", "hi"));
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(RunOk(AskAs("m2", "ho")).status, RunStatus::kInterrupted);
  EXPECT_THAT(Texts(RunOk(AskAs("m3", "yes"))),
              ElementsAre("hi", "re: hi", "ho", "yes", "re: yes"));
}

TEST_F(RepeatedTest, ARequestForWhichOnlyItsMessageIsThereIsRun) {
  state_.At("t1").state.window = {
      {"m1", 1, message::ToJsonText(Named(Message::User("posted"), "m1"))}};
  EXPECT_THAT(Texts(RunOk(AskAs("m1", "posted"))), ElementsAre("posted", "re: posted"));
}

TEST_F(RepeatedTest, AStoppedRequestIsRunAgain) {
  state_.stop_requested = true;
  EXPECT_EQ(RunOk(AskAs("m1", "hi")).status, RunStatus::kStopped);
  state_.stop_requested = false;
  EXPECT_THAT(Texts(RunOk(AskAs("m1", "hi"))), ElementsAre("hi", "re: hi"));
}

TEST_F(RepeatedTest, ARepetitionDoesNotEndAPause) {
  builder_.InterruptBefore({"A"});
  EXPECT_EQ(RunOk(AskAs("m1", "hi")).status, RunStatus::kInterrupted);
  EXPECT_EQ(RunOk(AskAs("m1", "hi")).status, RunStatus::kInterrupted);
  EXPECT_EQ(calls_, 0);
  EXPECT_THAT(Texts(RunOk(AskAs("m2", "yes"))), ElementsAre("hi", "yes", "re: yes"));
}

TEST_F(RepeatedTest, AResultIsTakenOnceThoughItsRunFailed) {
  Message calling = Named(Message::Assistant(""), "m1");
  calling.content = {ToolCallBlock{"c1", "show_map", "{}", false}};
  state_.At("t1").state.window = {{"m1", 1, message::ToJsonText(calling)}};
  RunRequest request = Ask("");
  request.messages = {Message::ToolResult("c1", "\"shown\"")};
  fail_ = true;
  EXPECT_EQ(RunOk(request).status, RunStatus::kError);
  fail_ = false;
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 3u);
  // It has been answered now.
  EXPECT_EQ(Run(request).status().code(), StatusCode::kInvalidArgument);
  request.messages = {Message::ToolResult("c1", "\"other\"")};
  EXPECT_EQ(Run(request).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(RepeatedTest, AResumeThatEndedBeforeItsFirstNodeIsExecuted) {
  builder_.InterruptBefore({"A"});
  EXPECT_EQ(RunOk(AskAs("m1", "hi")).status, RunStatus::kInterrupted);
  for (int i = 0; i < 2; ++i) {
    cancellation_ = runtime::Cancellation();
    cancellation_.Cancel(runtime::CancelReason::kClientGone);
    EXPECT_EQ(RunOk(AskAs("m2", "yes")).status, RunStatus::kStopped);
  }
  cancellation_ = runtime::Cancellation();
  EXPECT_EQ(calls_, 0);
  EXPECT_THAT(Texts(RunOk(AskAs("m2", "yes"))), ElementsAre("hi", "yes", "re: yes"));
  EXPECT_EQ(RunOk(AskAs("m2", "yes")).status, RunStatus::kDone);
  EXPECT_EQ(calls_, 1);
}

TEST_F(RepeatedTest, AResultIsTakenOnceThoughItsResumeWasCancelled) {
  Message calling = Named(Message::Assistant(""), "m1");
  calling.content = {ToolCallBlock{"c1", "show_map", "{}", false}};
  auto& thread = state_.At("t1").state;
  thread.window = {{"m1", 1, message::ToJsonText(calling)}};
  ExecutionMeta paused;
  paused.phase = ExecutionMeta::Phase::kInterruptedAfter;
  paused.interrupted_node = paused.resume_node = "A";
  thread.snapshot.execution_json = paused.ToJson();
  RunRequest request = Ask("");
  request.messages = {Message::ToolResult("c1", "\"shown\"")};
  cancellation_.Cancel(runtime::CancelReason::kClientGone);
  EXPECT_EQ(RunOk(request).status, RunStatus::kStopped);
  cancellation_ = runtime::Cancellation();
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 3u);
  EXPECT_EQ(calls_, 1);
}

TEST(Repetition, AnyNumberOfMessagesIsCompared) {
  constexpr int kMessages = 20'000;
  std::vector<Message> window = {Message::Assistant("")};
  std::vector<Message> request;
  for (int i = 0; i < kMessages; ++i) {
    const std::string number = std::to_string(i);
    window.push_back(Named(Message::ToolResult("c" + number, number), "r" + number));
    window.push_back(Named(Message::User("hi"), "m" + number));
    request.push_back(Message::ToolResult("c" + number, number));
    request.push_back(Named(Message::User("hi"), "m" + number));
  }
  window.erase(window.end() - 2);
  window.push_back(Message::Assistant("done"));
  Repetition repetition = FindRepetition(window, request, true);
  EXPECT_FALSE(repetition.Knows(0));  // behind the newest assistant message is none
  EXPECT_TRUE(repetition.Knows(1));
  window.pop_back();
  request.erase(request.end() - 2);
  repetition = FindRepetition(window, request, true);
  EXPECT_TRUE(repetition.is_latest_turn);
  EXPECT_EQ(repetition.answer_begins, window.size());
}

TEST(Repetition, AFileThatIsStoredAgainIsTheSame) {
  const auto image = [](const std::string& file_id, int64_t size) {
    Message message = Named(Message::User("look"), "m1");
    MediaBlock block;
    block.media.kind = MediaReference::Kind::kFileId;
    block.media.file_id = file_id;
    block.media.size_bytes = size;
    message.content.emplace_back(block);
    return message;
  };
  EXPECT_TRUE(FindRepetition({image("f1", 5)}, {image("f2", 5)}, false).Knows(0));
  EXPECT_FALSE(FindRepetition({image("f1", 5)}, {image("f2", 6)}, false).Knows(0));
}

TEST(Repetition, AMessageOfAnotherRoleIsAnotherMessage) {
  EXPECT_FALSE(FindRepetition({Named(Message::Assistant("hi"), "m1")},
                              {Named(Message::User("hi"), "m1")}, false)
                   .Knows(0));
}

TEST(Repetition, AnotherUploadedFileIsAnotherMessage) {
  const auto image = [](const std::string& file_id) {
    Message message = Named(Message::User("look"), "m1");
    MediaBlock block;
    block.media.kind = MediaReference::Kind::kFileId;
    block.media.file_id = file_id;
    message.content.emplace_back(block);
    return message;
  };
  EXPECT_TRUE(FindRepetition({image("f1")}, {image("f1")}, false).Knows(0));
  EXPECT_FALSE(FindRepetition({image("f1")}, {image("f2")}, false).Knows(0));
}

TEST(Repetition, AResultWithoutAnIdIsThatOfTheNewestCalls) {
  const Message result = Message::ToolResult("c1", "1");
  const Message other = Message::ToolResult("c2", "2");
  const auto knows = [](const std::vector<Message>& window, const Message& message) {
    return FindRepetition(window, {message}, true).Knows(0);
  };
  EXPECT_TRUE(knows({Message::Assistant(""), result}, result));
  EXPECT_TRUE(knows({Message::Assistant(""), result, other, Message::User("and")}, result));
  EXPECT_TRUE(knows({result}, result)) << "the message with its call may be outside of the window";
  EXPECT_FALSE(knows({}, result));
  EXPECT_FALSE(knows({Message::Assistant(""), other}, result));
  EXPECT_FALSE(knows({result, Message::Assistant("")}, result)) << "an older call of that id";
  EXPECT_FALSE(knows({Message::Assistant(""), Message::ToolResult("c1", "2")}, result));
  EXPECT_FALSE(FindRepetition({Message::Assistant(""), result}, {result}, false).Knows(0));
}

TEST(Repetition, OnlyAMessageOfResultsIsFoundWithoutAnId) {
  const auto knows = [](const Message& message) {
    return FindRepetition({Message::Assistant(""), message}, {message}, true).Knows(0);
  };
  EXPECT_FALSE(knows(Message::User("hi")));
  Message empty;
  empty.role = Role::kTool;
  EXPECT_FALSE(knows(empty));
  Message mixed = Message::ToolResult("c1", "1");
  mixed.content.emplace_back(TextBlock{"and more"});
  EXPECT_FALSE(knows(mixed));
}

}  // namespace
}  // namespace agent_graph::run
