// Turns and the end of a session.
#include "session_fixture.h"

namespace agent_graph::live {
namespace {

TEST_F(SessionTest, FramesWaitForTheModelAndKeepTheirOrder) {
  Begin();
  Client(kAudio, "1");
  Client(UpstreamFrame::Kind::kActivityStart);
  Client(kText, "hello");
  EXPECT_THAT(sent_, IsEmpty());
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, ElementsAre("audio 1", "start", "text hello"));
}

TEST_F(SessionTest, FramesWaitForASlowModel) {
  BeginReady();
  link_->unsent = 1 << 20;
  Client(kAudio, "1");
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(session_->buffered_bytes(), 1u);
  link_->unsent = 0;
  After(milliseconds(1));
  EXPECT_THAT(sent_, ElementsAre("audio 1"));
}

TEST_F(SessionTest, TranscriptsAreSentOnceAndStored) {
  BeginReady();
  Hear("good ");
  Hear("morning");
  Say("Hello");
  GiveAudio(milliseconds(100));
  Say(" there");
  Give({.kind = Kind::kOutputTranscript, .text = "Hello there.", .finished = true});
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"input_transcript","text":"good ","finished":false})",
                          R"({"type":"input_transcript","text":"morning","finished":false})",
                          R"({"type":"output_transcript","text":"Hello","finished":false})",
                          R"({"type":"output_transcript","text":" there","finished":false})",
                          R"({"type":"output_transcript","text":".","finished":false})"));
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"input_transcript","text":"","finished":true})",
                                        R"({"type":"output_transcript","text":"","finished":true})",
                                        R"({"type":"turn_complete"})"));
  EXPECT_THAT(stored_, ElementsAre("user: good morning", "assistant: Hello there."));
  EXPECT_THAT(metadata_,
              ElementsAre(R"({"modality":"audio"})", R"({"modality":"audio","agent":"VOICE"})"));
}

TEST_F(SessionTest, AnInterruptionRemovesTheUnplayedWords) {
  BeginReady();
  Say("one");
  GiveAudio(seconds(1));
  Say(" two");
  GiveAudio(seconds(1));
  Say(" three");
  GiveAudio(seconds(1));
  unplayed_ = milliseconds(1500);
  TakeEvents();
  Give({.kind = Kind::kInterrupted});
  EXPECT_THAT(sent_, ElementsAre("heard 1500"));
  EXPECT_EQ(unplayed_, milliseconds(0));
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"output_transcript","text":"","finished":true})",
                                        R"({"type":"interrupted"})"));
  EXPECT_THAT(stored_, ElementsAre("assistant: one two"));
  EXPECT_THAT(metadata_, ElementsAre(HasSubstr(R"("interrupted":true)")));
}

TEST_F(SessionTest, TheEndOfAnInterruptedTurnIsNotTheAnswerToTheInterruption) {
  BeginReady();
  Say("one");
  Give({.kind = Kind::kInterrupted});
  TakeEvents();
  Give({.kind = Kind::kTurnComplete, .answer_due = true});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"turn_complete"})"));
  Client(kClose);
  EXPECT_EQ(close_code_, 0);  // the user's message has no answer yet
  Say("two");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_, ElementsAre("assistant: one", "assistant: two"));
}

TEST_F(SessionTest, AnEmptyAnswerToAnInterruptionIsAnAnswer) {
  BeginReady();
  Say("one");
  Give({.kind = Kind::kInterrupted});
  Give({.kind = Kind::kTurnComplete});
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, TheEndWaitsForAnAnswerThatFollowsTheTurn) {
  BeginReady();
  Client(kText, "first");
  Client(kText, "second");
  Client(kClose);
  Say("To the first.");
  Give({.kind = Kind::kTurnComplete, .answer_due = true});
  EXPECT_EQ(close_code_, 0);
  Say("To the second.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, SpeechInterruptsACompleteAnswerThatIsUnplayed) {
  BeginReady();
  Say("one");
  GiveAudio(seconds(1));
  Say(" two");
  GiveAudio(seconds(1));
  unplayed_ = milliseconds(1800);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, IsEmpty());
  TakeEvents();
  Give({.kind = Kind::kSpeechStarted});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"interrupted"})"));
  EXPECT_THAT(stored_, ElementsAre("assistant: one"));
}

TEST_F(SessionTest, ATextInterruptsACompleteAnswerThatIsUnplayed) {
  BeginReady();
  Say("one");
  GiveAudio(seconds(1));
  Say(" two");
  GiveAudio(seconds(1));
  unplayed_ = milliseconds(1800);
  Give({.kind = Kind::kTurnComplete});
  TakeEvents();
  Client(kText, "stop");
  EXPECT_THAT(sent_, ElementsAre("heard 200", "text stop"));
  EXPECT_EQ(unplayed_, milliseconds(0));
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"interrupted"})"));
  EXPECT_THAT(stored_, ElementsAre("assistant: one", "user: stop"));
  EXPECT_THAT(metadata_.front(), HasSubstr(R"("interrupted":true)"));
}

TEST_F(SessionTest, AnInterruptionOfATurnWithoutAudioDoesNotCutAnAnswerThatWasHeard) {
  BeginReady();
  Say("one");
  GiveAudio(seconds(1));
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, ElementsAre("assistant: one"));
  CallAdd();
  Client(kText, "stop");
  EXPECT_THAT(sent_, ElementsAre("text stop"));
}

TEST_F(SessionTest, AnInterruptionCutsAnAnswerInProgressOfWhichAllWasHeard) {
  BeginReady();
  Say("one");
  GiveAudio(seconds(1));
  Client(kText, "stop");  // the provider may have more of the answer
  EXPECT_THAT(sent_, ElementsAre("heard 1000", "text stop"));
}

TEST_F(SessionTest, AnInterruptionCutsTheUnplayedAnswerBeforeTheCurrentOne) {
  BeginReady();
  Say("one");
  GiveAudio(seconds(1));
  Say(" two");
  GiveAudio(seconds(1));
  unplayed_ = milliseconds(1800);
  Give({.kind = Kind::kTurnComplete});
  Say("three");
  GiveAudio(seconds(1));
  unplayed_ = milliseconds(2500);
  Give({.kind = Kind::kInterrupted});
  EXPECT_THAT(sent_, ElementsAre("heard 0"));
  EXPECT_THAT(stored_, ElementsAre("assistant: one"));
  EXPECT_THAT(metadata_, ElementsAre(HasSubstr(R"("interrupted":true)")));
}

TEST_F(SessionTest, SpeechInterruptsWordsThatArePlayedWhileAToolRuns) {
  BeginReady();
  Say("Let me look.");
  GiveAudio(seconds(10));
  unplayed_ = seconds(8);
  CallAdd();
  TakeEvents();
  Give({.kind = Kind::kSpeechStarted});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"interrupted"})"));
  EXPECT_THAT(sent_, ElementsAre("heard 2000"));
  EXPECT_EQ(unplayed_, milliseconds(0));
  Give({.kind = Kind::kSpeechStarted});
  EXPECT_THAT(TakeEvents(), IsEmpty());
  AnswerAdd();
  EXPECT_THAT(sent_, ElementsAre("heard 2000", "reply c13"));
}

TEST_F(SessionTest, SpeechInterruptsWordsThatArePlayedAfterATool) {
  BeginReady();
  Say("Let me look.");
  GiveAudio(seconds(10));
  CallAdd();
  AnswerAdd();
  unplayed_ = seconds(8);
  TakeEvents();
  Give({.kind = Kind::kSpeechStarted});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"interrupted"})"));
  EXPECT_EQ(unplayed_, milliseconds(0));
}

TEST_F(SessionTest, TheTextsInMemoryAreCounted) {
  BeginReady({.history = {Message::User(std::string(1000, 'h'))}});
  EXPECT_EQ(session_->buffered_bytes(), 1000u);
  Give({.kind = Kind::kInputExpected});
  Say(std::string(200, 'a'));  // the words of the user are still expected
  EXPECT_EQ(session_->buffered_bytes(), 1200u);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(session_->buffered_bytes(), 1200u);
  Hear(std::string(30, 'u'));
  EXPECT_EQ(session_->buffered_bytes(), 1230u);
  Hear("", true);
  EXPECT_EQ(session_->buffered_bytes(), 1230u);
  Say(std::string(History::kBytesMax, 'b'));
  EXPECT_EQ(session_->buffered_bytes(), 1230u) << "an answer has a limit, too";
}

TEST_F(SessionTest, AnAnswerIsStoredWhenItWasPlayed) {
  BeginReady();
  Say("one");
  GiveAudio(seconds(1));
  unplayed_ = seconds(1);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(1));
  After(seconds(1));
  EXPECT_THAT(stored_, ElementsAre("assistant: one"));
}

TEST_F(SessionTest, TheEndOfSpeechIsAnsweredOnlyIfTheProviderSupportsIt) {
  BeginReady();
  link_->supports_activity = false;
  Client(UpstreamFrame::Kind::kActivityStart);
  Client(UpstreamFrame::Kind::kActivityEnd);
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
  BeginReady();
  Client(UpstreamFrame::Kind::kActivityEnd);
  Client(kClose);
  EXPECT_EQ(session_->phase(), Session::Phase::kDraining);
}

TEST_F(SessionTest, TheEndDoesNotWaitForSpeechThatIsNotAnswered) {
  BeginReady();
  Client(UpstreamFrame::Kind::kActivityStart);
  Give({.kind = Kind::kSpeechStarted});
  link_->supports_activity = false;
  Client(UpstreamFrame::Kind::kActivityEnd);
  Give({.kind = Kind::kNothingAsked});
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, TheEndOfTheSessionEndsSpeech) {
  BeginReady();
  Client(UpstreamFrame::Kind::kActivityStart);
  Give({.kind = Kind::kSpeechStarted});
  link_->supports_activity = false;  // the activity has already begun
  Client(UpstreamFrame::Kind::kActivityStart);
  Client(kClose);
  EXPECT_THAT(sent_, ElementsAre("start", "start", "end audio"));
  Give({.kind = Kind::kNothingAsked});
  After(milliseconds(1500));
  EXPECT_EQ(close_code_, 1000);
}

// --- the end --------------------------------------------------------------------------------

TEST_F(SessionTest, ClosesAtOnceWhenNothingIsDue) {
  BeginReady();
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
  EXPECT_EQ(outcome_, Outcome::kOk);
  EXPECT_EQ(session_->phase(), Session::Phase::kClosed);
}

TEST_F(SessionTest, DrainsTheAnswerInFlight) {
  BeginReady();
  Client(kText, "a question");
  Client(kClose);
  EXPECT_EQ(session_->phase(), Session::Phase::kDraining);
  Client(kText, "too late");
  Say("An answer");
  EXPECT_EQ(close_code_, 0);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_, ElementsAre("user: a question", "assistant: An answer"));
  EXPECT_THAT(sent_, ElementsAre("text a question"));
}

TEST_F(SessionTest, DrainsForThirtySecondsAtMost) {
  BeginReady();
  Client(kText, "a question");
  Client(kClose);
  After(seconds(29));
  EXPECT_EQ(close_code_, 0);
  After(seconds(1));
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, AnAnswerThatNobodyHearsMustBeginInFiveSeconds) {
  BeginReady();
  Client(kText, "a question");
  session_->OnDisconnect(now_);
  session_->Advance(now_);
  EXPECT_EQ(session_->wake_at(), now_ + seconds(5));
  After(milliseconds(4999));
  session_->OnDisconnect(now_);  // it is reported again and again
  EXPECT_EQ(close_code_, 0);
  After(milliseconds(1));
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_, ElementsAre("user: a question"));
}

TEST_F(SessionTest, AnAnswerThatNobodyHearsIsCompleted) {
  BeginReady();
  Client(kText, "a question");
  session_->OnDisconnect(now_);
  After(seconds(4));
  Say("An answer");
  After(seconds(25));
  EXPECT_EQ(close_code_, 0);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_, ElementsAre("user: a question", "assistant: An answer"));
}

TEST_F(SessionTest, ToolsThatRunHaveTheTimeOfTheDrain) {
  BeginReady();
  Client(kText, "a question");
  CallAdd();
  session_->OnDisconnect(now_);
  After(seconds(20));
  EXPECT_EQ(close_code_, 0);
  AnswerAdd();
  After(milliseconds(4999));
  EXPECT_EQ(close_code_, 0);
  After(milliseconds(1));
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, AClientThatClosesAndThenGoesIsNotWaitedFor) {
  BeginReady();
  Client(kText, "a question");
  Client(kClose);
  After(seconds(10));
  session_->OnDisconnect(now_);
  After(seconds(5));
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, TheEndWaitsBrieflyForAnAnswerToAudio) {
  BeginReady();
  Client(kAudio, "1");
  Client(kClose);
  EXPECT_THAT(sent_, ElementsAre("audio 1", "end audio"));
  EXPECT_EQ(close_code_, 0);
  EXPECT_EQ(session_->wake_at(), now_ + milliseconds(1500));
  After(milliseconds(1500));
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, ADrainForwardsTheQueue) {
  BeginReady();
  link_->unsent = 1 << 20;
  Client(kAudio, "1");
  Client(kText, "2");
  Client(kClose);
  EXPECT_EQ(close_code_, 0);
  link_->unsent = 0;
  After(milliseconds(1));
  EXPECT_THAT(sent_, ElementsAre("audio 1", "text 2", "end audio"));
}

TEST_F(SessionTest, AnExitingWorkerClosesWithoutAnError) {
  BeginReady();
  session_->OnLeave(now_);
  session_->Advance(now_);
  EXPECT_EQ(close_code_, 1001);
  EXPECT_THAT(TakeEvents(), IsEmpty());  // after a fatal error the client would not reconnect
}

TEST_F(SessionTest, ClosesAtOnceWithoutALink) {
  Begin();
  Give({.kind = Kind::kClosed});
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

}  // namespace
}  // namespace agent_graph::live
