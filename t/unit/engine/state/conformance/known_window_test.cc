// A client that has kept the window of a thread gets only what it lacks, whatever has happened to
// the thread meanwhile.
#include <gmock/gmock.h>

#include <future>

#include "conformance.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class KnownWindowTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    other_ = Connect();
    RunTurn(*client_, "t", "", {UserMessage("u1"), AssistantMessage("a1")});
    known_ = KnownOf(Turn());
  }
  // Names the window that the state has now.
  KnownWindow KnownOf(const BeginRunReply& begun) {
    const StoredMessage newest = StateOf("t").window.back();
    return {begun.thread_number, begun.window_version, newest.sequence, newest.id};
  }
  // A run that adds these messages; it names the window if there is one.
  BeginRunReply Turn(std::vector<StoredMessage> messages = {}, uint64_t window_max = 100) {
    BeginRunRequest run = RunOn("t");
    run.known_window = known_;
    run.window_max = window_max;
    Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    if (!begun.ok()) return {};
    Finish(*client_, run, *begun, std::move(messages));
    return *begun;
  }
  void Finish(Client& client, const BeginRunRequest& run, const BeginRunReply& begun,
              std::vector<StoredMessage> messages = {}) {
    const Status finished = client.FinishRun(FinishOf(run, begun, std::move(messages)));
    EXPECT_TRUE(finished.ok()) << finished.ToString();
  }
  // A run that waits behind those of `queued_`, and names the window that was known before them.
  struct WaitingRun {
    BeginRunRequest run;
    std::future<Result<BeginRunReply>> begun;
  };
  WaitingRun Wait(Client& client) {
    WaitingRun waiting{RunOn("t"), {}};
    waiting.run.known_window = known_;
    waiting.begun = std::async(
        std::launch::async, [&client, run = waiting.run] { return client.BeginRun(run, nullptr); });
    queued_.push_back(waiting.run.run_id);
    AwaitQueue(queued_);
    return waiting;
  }
  BeginRunReply Begun(WaitingRun& waiting) {
    Result<BeginRunReply> begun = waiting.begun.get();
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return begun.ok() ? *begun : BeginRunReply();
  }
  void ExpectWhole(const BeginRunReply& begun, const std::vector<std::string>& ids) {
    EXPECT_FALSE(begun.window_is_partial);
    EXPECT_THAT(begun.window_sequences, IsEmpty());
    EXPECT_EQ(Ids(begun.state.window), ids);
  }

  Client* other_ = nullptr;
  std::optional<KnownWindow> known_;
  std::vector<std::string> queued_;
};
INSTANTIATE_TEST_SUITE_P(All, KnownWindowTest, testing::ValuesIn(AllSetups()), SetupName);

class KnownWindowTakeover : public KnownWindowTest {};
INSTANTIATE_TEST_SUITE_P(All, KnownWindowTakeover, testing::ValuesIn(LastingSetups()), SetupName);

TEST_P(KnownWindowTest, WithoutChangesNoMessageIsSent) {
  const BeginRunReply begun = Turn();
  EXPECT_TRUE(begun.window_is_partial);
  EXPECT_THAT(begun.state.window, IsEmpty());
  EXPECT_THAT(begun.window_sequences, ElementsAre(1, 2));
  EXPECT_GT(begun.window_version, 0u);
}

TEST_P(KnownWindowTest, ANewThreadHasAVersion) {
  Result<BeginRunReply> begun = client_->BeginRun(RunOn("new"), nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_TRUE(begun->created);
  EXPECT_GT(begun->window_version, 0u);
  EXPECT_FALSE(begun->window_is_partial);
}

TEST_P(KnownWindowTest, OwnMessagesAndThoseOfAnotherClientAreSent) {
  Turn({UserMessage("u2"), AssistantMessage("a2")});
  RunTurn(*other_, "t", "", {UserMessage("u3")});
  ASSERT_TRUE(other_->AppendMessages(MessagesOn("t", "", {UserMessage("u4")})).ok());
  const BeginRunReply begun = Turn();
  EXPECT_TRUE(begun.window_is_partial);
  EXPECT_THAT(Ids(begun.state.window), ElementsAre("u2", "a2", "u3", "u4"));
  EXPECT_THAT(begun.window_sequences, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_P(KnownWindowTest, MessagesThatLeaveTheWindowAreNotListed) {
  Turn({UserMessage("u2"), AssistantMessage("a2")});
  const BeginRunReply begun = Turn({}, 2);
  EXPECT_TRUE(begun.window_is_partial);
  EXPECT_THAT(begun.window_sequences, ElementsAre(3, 4));
  EXPECT_THAT(Ids(begun.state.window), ElementsAre("u2", "a2"));
}

TEST_P(KnownWindowTest, ADeletedMessageIsNotListed) {
  ASSERT_TRUE(other_->DeleteMessage(Scope::All(), "t", "u1").ok());
  const BeginRunReply begun = Turn();
  EXPECT_TRUE(begun.window_is_partial);
  EXPECT_THAT(begun.window_sequences, ElementsAre(2));
}

TEST_P(KnownWindowTest, WithoutItsNewestMessageTheWindowIsNotKnown) {
  ASSERT_TRUE(other_->DeleteMessage(Scope::All(), "t", "a1").ok());
  ExpectWhole(Turn(), {"u1"});
}

TEST_P(KnownWindowTest, AReplacedMessageMakesTheWindowUnknown) {
  PutStateRequest put = PutOn("t", "");
  put.messages = {UserMessage("u1", "changed")};
  ASSERT_TRUE(other_->PutState(put).ok());
  const BeginRunReply begun = Turn();
  ExpectWhole(begun, {"u1", "a1"});
  EXPECT_EQ(begun.state.window[0].json, UserMessage("u1", "changed").json);
  known_ = KnownOf(begun);
  EXPECT_TRUE(Turn().window_is_partial);
}

TEST_P(KnownWindowTest, AnAddedMessageIsSent) {
  PutStateRequest put = PutOn("t", "");
  put.messages = {UserMessage("u2", "put")};
  ASSERT_TRUE(other_->PutState(put).ok());
  const BeginRunReply begun = Turn();
  EXPECT_TRUE(begun.window_is_partial);
  EXPECT_THAT(Ids(begun.state.window), ElementsAre("u2"));
}

TEST_P(KnownWindowTest, AClearedWindowListsNothing) {
  ASSERT_TRUE(other_->ClearState(Scope::All(), "t").ok());
  const BeginRunReply begun = Turn();
  EXPECT_THAT(begun.state.window, IsEmpty());
  EXPECT_THAT(begun.window_sequences, IsEmpty());
}

TEST_P(KnownWindowTest, AThreadWithTheSameNameIsAnotherOne) {
  ASSERT_TRUE(other_->DeleteThread(Scope::All(), "t").ok());
  RunTurn(*other_, "t", "", {UserMessage("u1"), AssistantMessage("a1")});
  ExpectWhole(Turn(), {"u1", "a1"});
}

TEST_P(KnownWindowTest, AWindowOfAnotherDatabaseIsNotKnown) {
  known_->message_id = "b1";
  ExpectWhole(Turn(), {"u1", "a1"});
}

TEST_P(KnownWindowTest, ALargeRestIsOmittedWithTheWholeWindow) {
  Turn({UserMessage("u2", std::string(10'000, 'x'))});
  BeginRunRequest run = RunOn("t");
  run.known_window = known_;
  run.reply_bytes_max = 1000;
  Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_GT(begun->omitted_bytes, 10'000u);
  ExpectWhole(*begun, {});
}

TEST_P(KnownWindowTest, ARunThatWaitsGetsOnlyWhatNoOtherRunOfItsClientHasLoaded) {
  const BeginRunRequest holder = RunOn("t");
  const BeginRunReply held = *client_->BeginRun(holder, nullptr);
  WaitingRun second = Wait(*client_);
  WaitingRun third = Wait(*other_);
  WaitingRun fourth = Wait(*client_);
  Finish(*client_, holder, held, {UserMessage("u2"), AssistantMessage("a2")});
  const BeginRunReply second_begun = Begun(second);
  EXPECT_EQ(second_begun.known_through, 2u);
  EXPECT_THAT(Ids(second_begun.state.window), ElementsAre("u2", "a2"));
  Finish(*client_, second.run, second_begun, {UserMessage("u3")});
  // Another client has loaded nothing.
  const BeginRunReply third_begun = Begun(third);
  EXPECT_EQ(third_begun.known_through, 2u);
  EXPECT_THAT(Ids(third_begun.state.window), ElementsAre("u2", "a2", "u3"));
  Finish(*other_, third.run, third_begun, {UserMessage("u4")});
  const BeginRunReply fourth_begun = Begun(fourth);
  EXPECT_TRUE(fourth_begun.window_is_partial);
  EXPECT_EQ(fourth_begun.known_through, 4u);
  EXPECT_THAT(Ids(fourth_begun.state.window), ElementsAre("u3", "u4"));
  EXPECT_THAT(fourth_begun.window_sequences, ElementsAre(1, 2, 3, 4, 5, 6));
  Finish(*client_, fourth.run, fourth_begun);
}

TEST_P(KnownWindowTest, ARunThatWaitsLoadsAllOnceAMessageIsReplaced) {
  const BeginRunRequest holder = RunOn("t");
  const BeginRunReply held = *client_->BeginRun(holder, nullptr);
  WaitingRun second = Wait(*client_);
  WaitingRun third = Wait(*client_);
  Finish(*client_, holder, held);
  const BeginRunReply second_begun = Begun(second);
  PutStateRequest put = PutOn("t", "");
  put.messages = {UserMessage("u1", "changed")};
  ASSERT_TRUE(other_->PutState(put).ok());
  Finish(*client_, second.run, second_begun);
  const BeginRunReply third_begun = Begun(third);
  ExpectWhole(third_begun, {"u1", "a1"});
  Finish(*client_, third.run, third_begun);
}

TEST_P(KnownWindowTest, ARunThatNamesNoWindowLoadsAllHoweverLongItWaits) {
  const BeginRunRequest holder = RunOn("t");
  const BeginRunReply held = *client_->BeginRun(holder, nullptr);
  WaitingRun second = Wait(*client_);
  known_.reset();
  WaitingRun third = Wait(*client_);
  Finish(*client_, holder, held);
  Finish(*client_, second.run, Begun(second));
  const BeginRunReply third_begun = Begun(third);
  ExpectWhole(third_begun, {"u1", "a1"});
  Finish(*client_, third.run, third_begun);
}

TEST_P(KnownWindowTakeover, TheNextServerStillKnowsIt) {
  Turn({UserMessage("u2")});
  Restart();
  const BeginRunReply begun = Turn();
  EXPECT_TRUE(begun.window_is_partial);
  EXPECT_THAT(Ids(begun.state.window), ElementsAre("u2"));
}

TEST_P(KnownWindowTakeover, TheNextServerKnowsThatAMessageWasReplaced) {
  PutStateRequest put = PutOn("t", "");
  put.messages = {UserMessage("u1", "changed")};
  ASSERT_TRUE(other_->PutState(put).ok());
  Restart();
  ExpectWhole(Turn(), {"u1", "a1"});
}

}  // namespace
}  // namespace agent_graph::state
