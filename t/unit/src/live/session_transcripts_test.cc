// User transcripts that arrive after the audio, and the order of utterances.
#include "session_fixture.h"

namespace agent_graph::live {
namespace {

TEST_F(SessionTest, ALateTranscriptPrecedesTheAnswer) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Say("Yes.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, IsEmpty());
  Hear("really?", true);
  EXPECT_THAT(stored_, ElementsAre("user: really?", "assistant: Yes."));
}

TEST_F(SessionTest, LinesFollowTheTranscriptThatPrecededThem) {
  BeginReady();
  Say("Good morning.");
  Give({.kind = Kind::kTurnComplete});
  Give({.kind = Kind::kInputExpected});
  CallAdd();
  session_->OnToolReplies({{"c1", "add", "3", false}}, {Message::ToolResult("c1", "3", false)},
                          calls_number_, now_);
  EXPECT_THAT(stored_, ElementsAre("assistant: Good morning."));
  Hear("one and two?", true);
  Say("Three.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, ElementsAre("assistant: Good morning.", "user: one and two?",
                                   "assistant: call add", "tool: result 3", "assistant: Three."));
}

TEST_F(SessionTest, WaitsTenSecondsForATranscript) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Say("Yes.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(10));
  After(seconds(10));
  EXPECT_THAT(stored_, ElementsAre("assistant: Yes."));
}

TEST_F(SessionTest, ATranscriptAfterItsAnswerExpectsNoSecondAnswer) {
  BeginReady();
  Say("Yes.");
  GiveAudio(seconds(1));
  unplayed_ = seconds(1);
  Give({.kind = Kind::kTurnComplete});
  Hear("real");
  After(milliseconds(500));
  Hear("ly?");
  TakeEvents();
  After(seconds(1));
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"input_transcript","text":"","finished":true})"));
  EXPECT_THAT(stored_, ElementsAre("user: really?", "assistant: Yes."));
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, ATranscriptAfterAnAnsweredQuestionIsTheNextQuestion) {
  BeginReady();
  Hear("really?");
  Say("Yes.");
  Give({.kind = Kind::kTurnComplete});
  Hear("and");
  Client(kClose);
  EXPECT_EQ(close_code_, 0);
  Say("And what?");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_,
              ElementsAre("user: really?", "assistant: Yes.", "user: and", "assistant: And what?"));
}

TEST_F(SessionTest, ATranscriptLongAfterAnAnswerIsTheNextQuestion) {
  BeginReady();
  Say("Hello.");
  Give({.kind = Kind::kTurnComplete});
  After(seconds(5));
  Hear("and");
  Client(kClose);
  EXPECT_EQ(close_code_, 0);
}

TEST_F(SessionTest, AnAnnouncedTranscriptExpectsNoSecondAnswer) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Say("Yes.");
  Give({.kind = Kind::kTurnComplete});
  Hear("really?", true);
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, AHandoverWaitsForTheTranscriptThatLedToIt) {
  targets_ = {"EXPERT"};
  BeginReady({.resumption_handle = "h"});
  link_->reconfigurable = false;
  Give({.kind = Kind::kInputExpected});
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  EXPECT_EQ(session_->agent(), "EXPERT");
  EXPECT_EQ(configs_.size(), 1u);
  Client(kAudio, "and");
  Give({.kind = Kind::kResumption, .text = "of the agent before"});
  Hear("the expert,");
  EXPECT_EQ(configs_.size(), 1u);
  Hear("the expert, please", true);
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].resumption_handle, "");
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), "the expert, please");
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, ElementsAre("audio and"));
}

TEST_F(SessionTest, AHandoverWaitsForTheTranscriptHoweverLongItsToolsAreListed) {
  targets_ = {"EXPERT"};
  BeginReady();
  link_->reconfigurable = false;
  Give({.kind = Kind::kInputExpected});
  configuring_ = seconds(11);
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  ASSERT_EQ(configs_.size(), 1u) << "the transcript may have arrived meanwhile";
  EXPECT_EQ(session_->wake_at(), now_ + seconds(2));
  Hear("the expert, please", true);
  ASSERT_EQ(configs_.size(), 2u);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), "the expert, please");
  // The provider has its whole time to accept the link.
  EXPECT_EQ(session_->wake_at(), now_ + seconds(15));
}

TEST_F(SessionTest, AHandoverWaitsForATranscriptThatWasNotAnnounced) {
  targets_ = {"EXPERT"};
  BeginReady();
  link_->reconfigurable = false;
  Client(kAudio, "noise");
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  EXPECT_EQ(configs_.size(), 1u);
  Hear("the expert, ");
  After(milliseconds(500));
  Hear("please");
  EXPECT_EQ(session_->wake_at(), now_ + seconds(1));
  After(seconds(1));
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), "the expert, please");
}

TEST_F(SessionTest, TheEndDoesNotWaitForAnAgentWithoutAQuestion) {
  targets_ = {"EXPERT"};
  BeginReady();
  link_->reconfigurable = false;
  Client(kAudio, "noise");
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  After(seconds(2));
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_THAT(configs_[1].history, IsEmpty());
  Give({.kind = Kind::kNothingAsked});
  Give({.kind = Kind::kReady});
  Client(kClose);
  After(milliseconds(1500));
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, AHandoverWaitsTwoSecondsForTheTranscript) {
  targets_ = {"EXPERT"};
  for (const bool lost : {false, true}) {
    configs_.clear();
    BeginReady();
    link_->reconfigurable = false;
    Give({.kind = Kind::kInputExpected});
    Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
    EXPECT_EQ(session_->wake_at(), now_ + seconds(2));
    lost ? Give({.kind = Kind::kClosed}) : After(seconds(2));
    ASSERT_EQ(configs_.size(), 2u);
    EXPECT_EQ(configs_[1].system_prompt, "EXPERT");
    Give({.kind = Kind::kReady});
    stored_.clear();
    Hear("who are you?");
    Say("The expert.");
    Give({.kind = Kind::kTurnComplete});
    EXPECT_THAT(stored_, ElementsAre("user: who are you?", "assistant: The expert."));
  }
}

TEST_F(SessionTest, HoldsNoLinesForTheTranscriptOfALostLink) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  Give({.kind = Kind::kReady});
  Say("Hello?");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, ElementsAre("assistant: Hello?"));
}

TEST_F(SessionTest, ALinkIsReplacedAfterItsTranscript) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Say("Yes.");
  Give({.kind = Kind::kGoAway, .time_left = seconds(10)});
  GiveNext({.kind = Kind::kPrepared});
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(configs_.size(), 1u);
  Hear("really?", true);
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].history.size(), 2u);
}

TEST_F(SessionTest, TheHeldLinesAreLimited) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  CallAdd();
  const std::string large(2 << 20, '7');
  session_->OnToolReplies({{"c1", "add", "3", false}}, {Message::ToolResult("c1", large, false)},
                          calls_number_, now_);
  EXPECT_EQ(stored_.size(), 2u);
  EXPECT_EQ(stored_[0], "assistant: call add");
}

TEST_F(SessionTest, ResultsAreStoredAfterTheEnd) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  CallAdd();
  session_->Fail("stopped", "the session was stopped", 1000);
  session_->OnToolReplies({{"c1", "add", "3", false}}, {Message::ToolResult("c1", "3", false)},
                          calls_number_, now_);
  EXPECT_THAT(stored_, ElementsAre("assistant: call add", "tool: result 3"));
}

TEST_F(SessionTest, TheEndWaitsForAnAnnouncedTranscript) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Client(kClose);
  Say("Yes.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 0);
  Hear("really?", true);
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_, ElementsAre("user: really?", "assistant: Yes."));
}

TEST_F(SessionTest, TwoTranscriptsPrecedeTheAnswerToBoth) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Give({.kind = Kind::kInputExpected});
  Hear("one and one", true, 1);
  Say("Four.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, ElementsAre("user: one and one"));
  Hear("and ");
  Client(kClose);
  EXPECT_EQ(close_code_, 0);
  Hear("and two?", true);
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_, ElementsAre("user: one and one", "user: and two?", "assistant: Four."));
}

TEST_F(SessionTest, LinesBetweenTwoUtterancesStayBetweenTheirTranscripts) {
  BeginReady();
  for (const char* answer : {"One.", "Two."}) {
    Give({.kind = Kind::kInputExpected});
    Say(answer);
    Give({.kind = Kind::kTurnComplete});
  }
  Give({.kind = Kind::kInputExpected});
  EXPECT_THAT(stored_, IsEmpty());
  Hear("first", true, 2);
  EXPECT_THAT(stored_, ElementsAre("user: first", "assistant: One."));
  Hear("", true, 1);  // not understood
  EXPECT_THAT(stored_, ElementsAre("user: first", "assistant: One.", "assistant: Two."));
  EXPECT_EQ(session_->wake_at(), now_ + seconds(10));
  After(seconds(10));
  Hear("thi");  // too late
  Hear("third", true);
  EXPECT_EQ(stored_.back(), "user: third");
}

TEST_F(SessionTest, TranscriptsInAnotherOrderAreStoredInOrder) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Give({.kind = Kind::kInputExpected});
  Hear("One ", false, 1);
  TakeEvents();
  Hear("And two?", true);
  EXPECT_THAT(TakeEvents(), IsEmpty());
  Hear("One and one.", true);
  EXPECT_THAT(stored_, ElementsAre("user: One and one.", "user: And two?"));
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"input_transcript","text":"and one.","finished":false})",
                          R"({"type":"input_transcript","text":"","finished":true})",
                          R"({"type":"input_transcript","text":"And two?","finished":false})",
                          R"({"type":"input_transcript","text":"","finished":true})"));
}

TEST_F(SessionTest, AMissingTranscriptDoesNotMoveOthers) {
  BeginReady();
  for (const std::string n : {"1", "2", "3"}) {
    Give({.kind = Kind::kInputExpected});
    if (n != "1") Hear("question " + n, true);
    Say("answer " + n);
    Give({.kind = Kind::kTurnComplete});
  }
  After(seconds(10));
  EXPECT_THAT(stored_, ElementsAre("assistant: answer 1", "user: question 2", "assistant: answer 2",
                                   "user: question 3", "assistant: answer 3"));
}

TEST_F(SessionTest, AnAnnouncedTranscriptThatIsLateExpectsNoSecondAnswer) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Client(kText, "a question");
  Say("An answer.");
  Give({.kind = Kind::kTurnComplete});
  Hear("hm");
  Hear("hm", true);
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, ATranscriptAfterAnAnswerWithItsQuestionIsTheNextQuestion) {
  BeginReady();
  Say("Yes.");
  Hear("really?");
  GiveAudio(seconds(1));
  unplayed_ = seconds(3);
  Give({.kind = Kind::kTurnComplete});
  Hear("and");
  Client(kClose);
  EXPECT_EQ(close_code_, 0);
  Say("And what?");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_,
              ElementsAre("user: really?", "assistant: Yes.", "user: and", "assistant: And what?"));
}

}  // namespace
}  // namespace agent_graph::live
