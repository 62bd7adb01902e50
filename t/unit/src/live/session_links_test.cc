// A session that loses and restores its connection to the provider.
#include "session_fixture.h"

namespace agent_graph::live {
namespace {

TEST_F(SessionTest, ReconnectsWithGrowingPausesThenGivesUp) {
  Begin();
  for (int pause : {500, 1000, 2000, 4000, 8000}) {
    Give({.kind = Kind::kClosed, .text = "refused"});
    EXPECT_EQ(session_->wake_at(), now_ + milliseconds(pause));
    After(milliseconds(pause));
  }
  EXPECT_EQ(configs_.size(), 6u);
  EXPECT_THAT(TakeEvents(), IsEmpty());
  Give({.kind = Kind::kClosed, .text = "refused"});
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"error","code":"reconnect_failed","message":"the provider )"
                          R"(could not be reached: refused","fatal":true})"));
  EXPECT_EQ(close_code_, 1011);
  EXPECT_EQ(outcome_, Outcome::kError);
}

TEST_F(SessionTest, CountsALinkThatIsAcceptedAndCutAsAFailure) {
  Begin();
  for (int i = 0; i < 5; ++i) {
    Give({.kind = Kind::kReady});
    Give({.kind = Kind::kClosed, .text = "1007"});
    After(seconds(10));
  }
  Give({.kind = Kind::kReady});
  Give({.kind = Kind::kClosed, .text = "1007"});
  EXPECT_EQ(close_code_, 1011);
}

TEST_F(SessionTest, OutputOfTheModelResetsTheFailures) {
  Begin();
  for (int i = 0; i < 10; ++i) {
    Give({.kind = Kind::kReady});
    Say("word");
    Give({.kind = Kind::kClosed});
    EXPECT_EQ(session_->wake_at(), now_ + milliseconds(500));
    After(milliseconds(500));
  }
  EXPECT_EQ(close_code_, 0);
}

TEST_F(SessionTest, ResumesWithTheNewestHandle) {
  BeginReady({.resumption_handle = "old"});
  EXPECT_EQ(configs_[0].resumption_handle, "old");
  Give({.kind = Kind::kResumption, .text = "new"});
  Give({.kind = Kind::kResumption, .text = "new"});
  EXPECT_THAT(handles_, ElementsAre("new"));
  EXPECT_THAT(TakeEvents(), IsEmpty());  // only after it is stored
  session_->OnHandleStored("new");
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"session_update","resumption_handle":"new"})"));
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "new");
}

TEST_F(SessionTest, AResumedLinkGetsTheMessagesThatTheHandleDoesNotCover) {
  BeginReady({.history = {Message::User("earlier"), Message::Assistant("yes")}});
  Give({.kind = Kind::kResumption, .text = "h"});
  Client(kText, "first");
  Say("One.");
  Give({.kind = Kind::kTurnComplete});
  Client(kText, "second");
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "h");
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 3u);
  EXPECT_EQ(configs_[1].history[0].Text(), "first");
  EXPECT_EQ(configs_[1].history[2].Text(), "second");
  Give({.kind = Kind::kReady});
  Say("Two.");
  Give({.kind = Kind::kTurnComplete});
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_FALSE(configs_[2].respond);
  EXPECT_THAT(configs_[2].history, IsEmpty());
}

TEST_F(SessionTest, SendsAQuestionAgainIfAHandleFollowedIt) {
  one_link_ = true;
  BeginReady({.resumption_handle = "h"});
  Client(kText, "a question");
  Give({.kind = Kind::kGoAway, .time_left = seconds(10)});
  GiveNext({.kind = Kind::kPrepared});
  After(seconds(8));
  EXPECT_THAT(sent_, ElementsAre("text a question", "leave"));
  Give({.kind = Kind::kResumption, .text = "i"});
  Give({.kind = Kind::kClosed});
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].resumption_handle, "i");
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
}

TEST_F(SessionTest, SpeechWithoutATranscriptIsNotAnsweredOverAnotherLink) {
  BeginReady({.history = {Message::User("earlier"), Message::Assistant("yes")}});
  Give({.kind = Kind::kSpeechStarted});
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_FALSE(configs_[1].respond);
  Give({.kind = Kind::kReady});
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, AnAgentThatTookOverAnswersOverAnotherLink) {
  targets_ = {"EXPERT"};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].system_prompt, "EXPERT");
  EXPECT_TRUE(configs_[1].respond);
  Give({.kind = Kind::kReady});
  Say("The expert.");
  Give({.kind = Kind::kTurnComplete});
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_FALSE(configs_[2].respond);
}

TEST_F(SessionTest, KeepsTheHandleIfTheProviderCannotBeReached) {
  Begin({.resumption_handle = "h"});
  Give({.kind = Kind::kClosed, .connected = false});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "h");
}

TEST_F(SessionTest, SendsTheHistoryIfTheHandleIsRefused) {
  Begin({.history = {Message::User("earlier")}, .resumption_handle = "stale"});
  EXPECT_THAT(configs_[0].history, IsEmpty());
  Give({.kind = Kind::kClosed, .text = "invalid handle"});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "");
  ASSERT_EQ(configs_[1].history.size(), 1u);
}

TEST_F(SessionTest, SendsTheHistoryToAProviderWithoutHandles) {
  resumes_ = false;
  BeginReady({.history = {Message::User("earlier")}, .resumption_handle = "h"});
  EXPECT_EQ(configs_[0].resumption_handle, "");
  ASSERT_EQ(configs_[0].history.size(), 1u);
}

TEST_F(SessionTest, ReplacesALinkThatWillCloseBetweenTwoTurns) {
  BeginReady({.resumption_handle = "h"});
  Say("I am");
  Give({.kind = Kind::kGoAway, .time_left = milliseconds(9500)});
  EXPECT_THAT(TakeEvents(), testing::Contains(R"({"type":"go_away","time_left":"9.500s"})"));
  EXPECT_EQ(prepared_, 1);
  GiveNext({.kind = Kind::kPrepared});
  EXPECT_EQ(configs_.size(), 1u);
  Give({.kind = Kind::kTurnComplete});
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].resumption_handle, "h");
  EXPECT_FALSE(next_);
}

TEST_F(SessionTest, TheOldLinkServesUntilTheNextIsPrepared) {
  BeginReady();
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  Client(kAudio, "1");
  EXPECT_THAT(sent_, ElementsAre("audio 1"));
  EXPECT_EQ(configs_.size(), 1u);
  GiveNext({.kind = Kind::kPrepared});
  EXPECT_EQ(configs_.size(), 2u);
  Client(kAudio, "2");
  EXPECT_THAT(sent_, ElementsAre("audio 1"));
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, ElementsAre("audio 1", "audio 2"));
}

TEST_F(SessionTest, EndsTheOldLinkFirstIfOnlyOneIsAllowed) {
  one_link_ = true;
  BeginReady({.resumption_handle = "old"});
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  GiveNext({.kind = Kind::kPrepared});
  EXPECT_THAT(sent_, ElementsAre("leave"));
  EXPECT_EQ(configs_.size(), 1u);
  Client(kAudio, "1");
  Give({.kind = Kind::kResumption, .text = "new"});
  Give({.kind = Kind::kClosed});
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].resumption_handle, "new");
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, ElementsAre("leave", "audio 1"));
}

TEST_F(SessionTest, WaitsThreeSecondsForTheEndOfALink) {
  one_link_ = true;
  BeginReady();
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  GiveNext({.kind = Kind::kPrepared});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(3));
  After(seconds(3));
  EXPECT_EQ(configs_.size(), 2u);
}

TEST_F(SessionTest, ClosingWhileTheOldLinkEndsLosesNoFrames) {
  one_link_ = true;
  BeginReady();
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  GiveNext({.kind = Kind::kPrepared});
  Client(kText, "a question");
  Client(kClose);
  EXPECT_EQ(close_code_, 0);
  Give({.kind = Kind::kClosed});
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, ElementsAre("leave", "text a question"));
}

TEST_F(SessionTest, ContinuesIfTheNextLinkFails) {
  BeginReady();
  Say("I am");
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  GiveNext({.kind = Kind::kClosed});
  Give({.kind = Kind::kGoAway, .time_left = seconds(50)});
  EXPECT_EQ(prepared_, 1);
  EXPECT_EQ(close_code_, 0);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(configs_.size(), 2u);
}

TEST_F(SessionTest, ReconnectsAtOnceIfTheNextLinkIsPrepared) {
  BeginReady({.resumption_handle = "h"});
  Say("Half of");
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  GiveNext({.kind = Kind::kPrepared});
  Give({.kind = Kind::kClosed});
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].resumption_handle, "h");
  EXPECT_THAT(stored_, ElementsAre("assistant: Half of"));
}

TEST_F(SessionTest, GivesUpAProviderThatClosesEachLinkAtOnce) {
  Begin();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(close_code_, 0);
    Give({.kind = Kind::kReady});
    Give({.kind = Kind::kGoAway});
    After(seconds(10));
  }
  EXPECT_EQ(configs_.size(), 6u);
  EXPECT_EQ(close_code_, 1011);
}

TEST_F(SessionTest, ALinkThatServedLongResetsTheFailures) {
  Begin();
  for (int i = 0; i < 10; ++i) {
    Give({.kind = Kind::kReady});
    After(seconds(600));
    Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
    GiveNext({.kind = Kind::kPrepared});
  }
  EXPECT_EQ(configs_.size(), 11u);
  EXPECT_EQ(close_code_, 0);
}

TEST_F(SessionTest, ReplacesALinkBeforeItCloses) {
  BeginReady();
  Say("A long story");
  Give({.kind = Kind::kGoAway, .time_left = seconds(10)});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(8));
  After(seconds(8));  // and nothing from the provider
  EXPECT_EQ(configs_.size(), 2u);
  EXPECT_THAT(stored_, ElementsAre("assistant: A long story"));
}

TEST_F(SessionTest, ReplacesALinkThatAnnouncedItsEndBeforeItWasAccepted) {
  Begin();
  Give({.kind = Kind::kGoAway, .time_left = seconds(1)});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(15));
  After(seconds(10));
  EXPECT_EQ(session_->wake_at(), now_ + seconds(5));
  EXPECT_EQ(configs_.size(), 1u);
  Give({.kind = Kind::kReady});
  EXPECT_EQ(configs_.size(), 2u);
}

TEST_F(SessionTest, ADrainingSessionKeepsALinkThatWillClose) {
  BeginReady();
  Say("A long story");
  Give({.kind = Kind::kGoAway, .time_left = seconds(10)});
  Client(kClose);
  After(seconds(9));
  EXPECT_EQ(configs_.size(), 1u);
  EXPECT_EQ(session_->wake_at(), now_ + seconds(21));
}

TEST_F(SessionTest, ReconnectsIfTheProviderDoesNotAccept) {
  Begin();
  EXPECT_EQ(session_->wake_at(), now_ + seconds(15));
  After(seconds(15));
  EXPECT_EQ(session_->wake_at(), now_ + milliseconds(500));
}

TEST_F(SessionTest, ALostLinkEndsTheAnswerAndKeepsItsWords) {
  BeginReady();
  Say("Half of");
  TakeEvents();
  Give({.kind = Kind::kClosed});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"output_transcript","text":"","finished":true})",
                                        R"({"type":"turn_complete"})"));
  EXPECT_THAT(stored_, ElementsAre("assistant: Half of"));
  Client(kAudio, "go on");
  After(milliseconds(500));
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, ElementsAre("audio go on"));
}

TEST_F(SessionTest, ForwardsErrorsOfTheProvider) {
  BeginReady();
  Give({.kind = Kind::kError, .text = "slow down", .code = "rate_limit"});
  Give({.kind = Kind::kError, .text = "hm"});
  EXPECT_THAT(
      TakeEvents(),
      ElementsAre(R"({"type":"error","code":"rate_limit","message":"slow down","fatal":false})",
                  R"({"type":"error","code":null,"message":"hm","fatal":false})"));
  EXPECT_EQ(close_code_, 0);
  Give({.kind = Kind::kClosed, .text = "bad key", .code = "invalid_api_key", .retry = false});
  EXPECT_THAT(
      TakeEvents(),
      ElementsAre(R"({"type":"error","code":"invalid_api_key","message":"bad key","fatal":true})"));
  EXPECT_EQ(close_code_, 1011);
}

TEST_F(SessionTest, AFatalErrorIsTheLastEvent) {
  BeginReady();
  Hear("hello");
  Say("Good");
  TakeEvents();
  session_->Fail("stopped", "the session was stopped", 1000);
  EXPECT_THAT(
      TakeEvents(),
      ElementsAre(
          R"({"type":"output_transcript","text":"","finished":true})",
          R"({"type":"input_transcript","text":"","finished":true})",
          R"({"type":"error","code":"stopped","message":"the session was stopped","fatal":true})"));
  EXPECT_THAT(stored_, ElementsAre("user: hello", "assistant: Good"));
}

TEST_F(SessionTest, ANewLinkGetsTheUnplayedAnswer) {
  resumes_ = false;
  BeginReady();
  Client(kText, "a question");
  Say("An answer");
  GiveAudio(seconds(5));
  unplayed_ = seconds(4);
  Give({.kind = Kind::kTurnComplete});
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_FALSE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 2u);
  EXPECT_EQ(configs_[1].history[0].Text(), "a question");
  EXPECT_EQ(configs_[1].history[1].Text(), "An answer");
  EXPECT_EQ(stored_.size(), 1u);  // it may still be interrupted
}

TEST_F(SessionTest, AResultIsAnsweredThoughTheAnswerBeforeItIsUnplayed) {
  resumes_ = false;
  BeginReady();
  Hear("a question", true);
  Say("One moment.");
  GiveAudio(seconds(2));
  unplayed_ = milliseconds(1500);
  CallAdd();
  Give({.kind = Kind::kClosed});
  AnswerAdd();
  After(milliseconds(500));
  EXPECT_TRUE(configs_.back().respond);
  Give({.kind = Kind::kClosed});
  After(seconds(1));
  ASSERT_EQ(configs_.size(), 3u);
  EXPECT_TRUE(configs_[2].respond);
  ASSERT_EQ(configs_[2].history.size(), 3u);
  EXPECT_EQ(configs_[2].history[1].Text(), "One moment.");
  EXPECT_THAT(configs_[2].history[2].Text(), HasSubstr("returned 3"));
}

// The pieces arrived while the tools were listed, and are read afterwards.
TEST_F(SessionTest, ATranscriptIsNotCutByTheEndOfALink) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Hear("one ");
  configuring_ = seconds(11);
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  Hear("one utterance", true);
  EXPECT_THAT(stored_, ElementsAre("user: one utterance"));
}

}  // namespace
}  // namespace agent_graph::live
