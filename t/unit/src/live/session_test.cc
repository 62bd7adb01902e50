// The state machine of a session, with a client, a model and a clock that the test plays.
#include "live/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace agent_graph::live {
namespace {

using realtime::Event;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Kind = Event::Kind;

constexpr size_t kSecondOfSound = 48'000;  // bytes that a client plays

class FakeLink : public realtime::Link {
 public:
  explicit FakeLink(std::vector<std::string>& sent) : sent_(sent) {}

  void Begin(const realtime::LinkConfig&) override {}
  void Leave() override { sent_.push_back("leave"); }
  void SendAudio(std::string_view pcm) override { sent_.push_back("audio " + std::string(pcm)); }
  void SendText(const std::string& text) override { sent_.push_back("text " + text); }
  void SendActivity(bool start) override { sent_.push_back(start ? "start" : "end"); }
  void SendToolReplies(const std::vector<realtime::ToolReply>& replies) override {
    for (const auto& reply : replies) sent_.push_back("reply " + reply.id + reply.output_json);
  }
  void EndAudio() override { sent_.push_back("end audio"); }
  void Truncate(milliseconds heard) override {
    sent_.push_back("heard " + std::to_string(heard.count()));
  }
  bool Reconfigure(const realtime::LinkConfig& config) override {
    if (reconfigurable) sent_.push_back("now " + config.system_prompt);
    return reconfigurable;
  }
  size_t unsent_bytes() const override { return unsent; }
  std::optional<Event> Next() override { return std::nullopt; }

  bool reconfigurable = true;
  size_t unsent = 0;

 private:
  std::vector<std::string>& sent_;
};

class SessionTest : public testing::Test, public SessionPorts {
 protected:
  void Emit(std::string event) override { events_.push_back(std::move(event)); }
  void EmitAudio(std::string pcm) override {
    audio_ += milliseconds(pcm.size() * 1000 / kSecondOfSound);
  }
  void FlushAudio() override { unplayed_ = milliseconds(0); }
  milliseconds Unplayed() override { return unplayed_; }
  realtime::LinkConfig Configure(const std::string& agent) override {
    realtime::LinkConfig config;
    config.system_prompt = agent;
    return config;
  }
  std::vector<std::string> HandoverTargets(const std::string&) override { return targets_; }
  void OpenLink(const realtime::LinkConfig& config) override {
    configs_.push_back(config);
    link_ = std::make_unique<FakeLink>(sent_);
  }
  void CloseLink() override { link_.reset(); }
  realtime::Link* link() override { return link_.get(); }
  void PrepareNextLink(const realtime::LinkConfig&) override {
    next_ = std::make_unique<FakeLink>(sent_);
    ++prepared_;
  }
  void BeginNextLink(const realtime::LinkConfig& config) override {
    configs_.push_back(config);
    link_ = std::move(next_);
  }
  void DropNextLink() override { next_.reset(); }
  bool OneLinkAtATime() override { return one_link_; }
  void CallTools(std::vector<realtime::ToolCall> calls, uint64_t link_number) override {
    for (const auto& call : calls) called_.push_back(call.name);
    called_link_ = link_number;
  }
  void Store(Message message) override {
    std::string text(RoleName(message.role));
    text += ": " + message.Text();
    for (const auto* call : message.ToolCalls()) text += "call " + call->name;
    stored_.push_back(text);
    metadata_.push_back(message.metadata_json);
  }
  void RecordAnswer(Deadline since, std::string_view stop_reason) override {
    const auto took = since == kNoDeadline ? Duration::zero() : now_ - since;
    answers_.push_back(std::string(stop_reason) + " " +
                       std::to_string(std::chrono::duration_cast<milliseconds>(took).count()));
  }
  void StoreHandle(std::string handle) override { handles_.push_back(handle); }
  void Warn(const std::string&) override {}
  void Close(uint16_t code, std::string, std::string outcome) override {
    close_code_ = code;
    outcome_ = outcome;
  }

  Session& Begin(Session::Options options = {}) {
    if (options.agent.empty()) options.agent = "VOICE";
    session_.emplace(*this, std::move(options));
    session_->Start(now_);
    return *session_;
  }
  Session& BeginReady(Session::Options options = {}) {
    Begin(std::move(options));
    Give({.kind = Kind::kReady});
    return *session_;
  }
  void Give(Event event) {
    session_->OnLinkEvent(std::move(event), now_);
    session_->Advance(now_);
  }
  void GiveNext(Event event) {
    session_->OnNextLinkEvent(event);
    session_->Advance(now_);
  }
  void Say(const std::string& text) { Give({.kind = Kind::kOutputTranscript, .text = text}); }
  void Hear(const std::string& text, bool finished = false) {
    Give({.kind = Kind::kInputTranscript, .text = text, .finished = finished});
  }
  void Sound(milliseconds duration) {
    Give({.kind = Kind::kAudio,
          .text = std::string(static_cast<size_t>(duration.count()) * kSecondOfSound / 1000, 's')});
  }
  void Client(UpstreamFrame::Kind kind, std::string payload = "") {
    session_->OnFrame({kind, std::move(payload)}, now_);
    session_->Advance(now_);
  }
  void After(milliseconds time) {
    now_ += time;
    session_->Advance(now_);
  }
  std::vector<std::string> TakeEvents() { return std::exchange(events_, {}); }

  Deadline now_ = MonotonicClock::now();
  std::optional<Session> session_;
  std::unique_ptr<FakeLink> link_, next_;
  std::vector<std::string> answers_;
  int prepared_ = 0;
  bool one_link_ = false;
  std::vector<std::string> events_, sent_, stored_, metadata_, handles_, called_, targets_;
  std::vector<realtime::LinkConfig> configs_;
  milliseconds audio_{0}, unplayed_{0};
  uint64_t called_link_ = 0;
  uint16_t close_code_ = 0;
  std::string outcome_;
};

constexpr auto kAudio = UpstreamFrame::Kind::kAudio;
constexpr auto kText = UpstreamFrame::Kind::kText;
constexpr auto kClose = UpstreamFrame::Kind::kClose;

TEST_F(SessionTest, FramesWaitForTheModelAndKeepTheirOrder) {
  Begin();
  Client(kAudio, "1");
  Client(UpstreamFrame::Kind::kActivityStart);
  Client(kText, "hello");
  EXPECT_THAT(sent_, IsEmpty());
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, ElementsAre("audio 1", "start", "text hello"));
}

TEST_F(SessionTest, ASlowModelTakesWhatItCan) {
  BeginReady();
  link_->unsent = 1 << 20;
  Client(kAudio, "1");
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(session_->buffered_bytes(), 1u);
  link_->unsent = 0;
  After(milliseconds(1));
  EXPECT_THAT(sent_, ElementsAre("audio 1"));
}

TEST_F(SessionTest, TranscriptsGiveTheSentenceOnceAndGoIntoTheThread) {
  BeginReady();
  Hear("good ");
  Hear("morning");
  Say("Hello");
  Sound(milliseconds(100));
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

TEST_F(SessionTest, WordsOfTheUserThatComeLateStandBeforeTheAnswer) {
  BeginReady();
  Give({.kind = Kind::kInputExpected});
  Say("Yes.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, IsEmpty());
  Hear("really?", true);
  EXPECT_THAT(stored_, ElementsAre("user: really?", "assistant: Yes."));
}

TEST_F(SessionTest, AnInterruptionTakesBackWhatWasNotHeard) {
  BeginReady();
  Say("one");
  Sound(seconds(1));
  Say(" two");
  Sound(seconds(1));
  Say(" three");
  Sound(seconds(1));
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
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"turn_complete"})"));
  Client(kClose);
  EXPECT_EQ(close_code_, 0);  // the user's words are still to be answered
  Say("two");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
  EXPECT_THAT(stored_, ElementsAre("assistant: one", "assistant: two"));
}

TEST_F(SessionTest, SpeechIntoThePlayingEndOfACompleteAnswerInterruptsIt) {
  BeginReady();
  Say("one");
  Sound(seconds(1));
  Say(" two");
  Sound(seconds(1));
  unplayed_ = milliseconds(1800);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, IsEmpty());
  TakeEvents();
  Give({.kind = Kind::kSpeechStarted});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"interrupted"})"));
  EXPECT_THAT(stored_, ElementsAre("assistant: one"));
}

TEST_F(SessionTest, AnAnswerIsWrittenWhenItWasHeard) {
  BeginReady();
  Say("one");
  Sound(seconds(1));
  unplayed_ = seconds(1);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(1));
  After(seconds(1));
  EXPECT_THAT(stored_, ElementsAre("assistant: one"));
}

TEST_F(SessionTest, ToolsAreCalledAndAnswered) {
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", "add", R"({"a":1})"}}});
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"tool_call","id":"c1","name":"add","args":{"a":1}})"));
  EXPECT_THAT(called_, ElementsAre("add"));
  EXPECT_THAT(stored_, ElementsAre("assistant: call add"));
  Client(kAudio, "meanwhile");
  session_->OnToolReplies({{"c1", "add", "3", false}}, called_link_);
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"tool_result","id":"c1","result":{"result":3}})"));
  EXPECT_THAT(sent_, ElementsAre("audio meanwhile", "reply c13"));
}

TEST_F(SessionTest, ResultsForAnotherConnectionAreNotSent) {
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", "add", "{}"}}});
  const uint64_t link = called_link_;
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  Give({.kind = Kind::kReady});
  session_->OnToolReplies({{"c1", "add", "3", false}}, link);
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(SessionTest, HandsOverInPlace) {
  targets_ = {"EXPERT"};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"agent_changed","author":"EXPERT"})"));
  EXPECT_THAT(sent_, ElementsAre("now EXPERT", R"(reply c1{"result":"ok"})"));
  EXPECT_THAT(called_, IsEmpty());
  EXPECT_EQ(session_->agent(), "EXPERT");
}

TEST_F(SessionTest, HandsOverToANewConnectionThatKnowsWhatWasSaid) {
  targets_ = {"EXPERT"};
  BeginReady({.resumption_handle = "h"});
  link_->reconfigurable = false;
  Hear("the expert, please", true);
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].system_prompt, "EXPERT");
  EXPECT_EQ(configs_[1].resumption_handle, "");
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), "the expert, please");
}

TEST_F(SessionTest, NobodyIsHandedOverToAStranger) {
  targets_ = {"EXPERT"};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"MALLORY"})"}}});
  EXPECT_THAT(TakeEvents(), IsEmpty());
  EXPECT_THAT(sent_, ElementsAre(HasSubstr("error")));
  EXPECT_EQ(session_->agent(), "VOICE");
}

TEST_F(SessionTest, AnswersAreRecordedWithTheirTime) {
  BeginReady();
  Client(kText, "a question");
  After(milliseconds(100));
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", "add", "{}"}}});
  After(seconds(5));
  session_->OnToolReplies({{"c1", "add", "3", false}}, called_link_);
  After(milliseconds(1));
  After(milliseconds(200));
  Say("three");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(answers_, ElementsAre("tool_calls 100", "stop 200"));
  Say("and");
  Give({.kind = Kind::kInterrupted});
  EXPECT_EQ(answers_.back(), "interrupted 0");
}

// --- connections --------------------------------------------------------------------------

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
  EXPECT_EQ(outcome_, "error");
}

TEST_F(SessionTest, AConnectionThatIsAcceptedAndCutAgainCountsAsFailed) {
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

TEST_F(SessionTest, AModelThatSpeaksIsForgivenItsFailures) {
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
  EXPECT_THAT(TakeEvents(), IsEmpty());  // not before it is stored
  session_->OnHandleStored("new");
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"session_update","resumption_handle":"new"})"));
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "new");
}

TEST_F(SessionTest, AHandleOutlivesAProviderThatCannotBeReached) {
  Begin({.resumption_handle = "h"});
  Give({.kind = Kind::kClosed, .connected = false});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "h");
}

TEST_F(SessionTest, ARefusedHandleIsReplacedByWhatWasSaid) {
  Begin({.history = {Message::User("earlier")}, .resumption_handle = "stale"});
  EXPECT_THAT(configs_[0].history, IsEmpty());
  Give({.kind = Kind::kClosed, .text = "invalid handle"});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "");
  ASSERT_EQ(configs_[1].history.size(), 1u);
}

TEST_F(SessionTest, LeavesAConnectionThatWillGoBetweenTwoTurns) {
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

TEST_F(SessionTest, TheOldConnectionServesUntilTheNextIsPrepared) {
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

TEST_F(SessionTest, EndsTheOldConnectionFirstWhereOnlyOneIsAllowed) {
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

TEST_F(SessionTest, AConnectionThatDoesNotEndIsNotWaitedForLong) {
  one_link_ = true;
  BeginReady();
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  GiveNext({.kind = Kind::kPrepared});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(3));
  After(seconds(3));
  EXPECT_EQ(configs_.size(), 2u);
}

TEST_F(SessionTest, ClosingWhileTheOldConnectionEndsLosesNothing) {
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

TEST_F(SessionTest, ANextConnectionThatFailsIsNotNeeded) {
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

TEST_F(SessionTest, ACutAfterTheWarningIsMendedAtOnce) {
  BeginReady({.resumption_handle = "h"});
  Say("Half of");
  Give({.kind = Kind::kGoAway, .time_left = seconds(60)});
  GiveNext({.kind = Kind::kPrepared});
  Give({.kind = Kind::kClosed});
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].resumption_handle, "h");
  EXPECT_THAT(stored_, ElementsAre("assistant: Half of"));
}

TEST_F(SessionTest, AProviderThatSendsEverybodyAwayAtOnceIsGivenUp) {
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

TEST_F(SessionTest, ALongSilenceIsNoFailure) {
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

TEST_F(SessionTest, LeavesAConnectionThatWillGoBeforeItDoes) {
  BeginReady();
  Say("A long story");
  Give({.kind = Kind::kGoAway, .time_left = seconds(10)});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(8));
  After(seconds(8));  // and not a word from the provider
  EXPECT_EQ(configs_.size(), 2u);
  EXPECT_THAT(stored_, ElementsAre("assistant: A long story"));
}

TEST_F(SessionTest, AProviderThatWillGoBeforeItAcceptsIsLeftOnceItHas) {
  Begin();
  Give({.kind = Kind::kGoAway, .time_left = seconds(1)});
  EXPECT_EQ(session_->wake_at(), now_ + seconds(15));
  After(seconds(10));
  EXPECT_EQ(session_->wake_at(), now_ + seconds(5));
  EXPECT_EQ(configs_.size(), 1u);
  Give({.kind = Kind::kReady});
  EXPECT_EQ(configs_.size(), 2u);
}

TEST_F(SessionTest, ASessionThatEndsDoesNotLeaveAConnectionThatWillGo) {
  BeginReady();
  Say("A long story");
  Give({.kind = Kind::kGoAway, .time_left = seconds(10)});
  Client(kClose);
  After(seconds(9));
  EXPECT_EQ(configs_.size(), 1u);
  EXPECT_EQ(session_->wake_at(), now_ + seconds(21));
}

TEST_F(SessionTest, ASilentProviderIsLeft) {
  Begin();
  EXPECT_EQ(session_->wake_at(), now_ + seconds(15));
  After(seconds(15));
  EXPECT_EQ(session_->wake_at(), now_ + milliseconds(500));
}

TEST_F(SessionTest, ACutInMidAnswerKeepsWhatWasSaid) {
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

TEST_F(SessionTest, ErrorsOfTheProvider) {
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

// --- the end --------------------------------------------------------------------------------

TEST_F(SessionTest, ClosesAtOnceWhenNothingIsDue) {
  BeginReady();
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
  EXPECT_EQ(outcome_, "ok");
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
  session_->OnDisconnect(now_);
  After(seconds(29));
  EXPECT_EQ(close_code_, 0);
  After(seconds(1));
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, SoundWithoutAnswerIsEndedAndWaitedForBriefly) {
  BeginReady();
  Client(kAudio, "1");
  Client(kClose);
  EXPECT_THAT(sent_, ElementsAre("audio 1", "end audio"));
  EXPECT_EQ(close_code_, 0);
  EXPECT_EQ(session_->wake_at(), now_ + milliseconds(1500));
  After(milliseconds(1500));
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, DrainForwardsWhatIsQueued) {
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

TEST_F(SessionTest, ALeavingWorkerLetsTheClientComeBack) {
  BeginReady();
  session_->OnLeave(now_);
  session_->Advance(now_);
  EXPECT_EQ(close_code_, 1001);
  EXPECT_THAT(TakeEvents(), IsEmpty());  // a fatal error would keep the client away
}

TEST_F(SessionTest, NothingIsWaitedForWithoutAConnection) {
  Begin();
  Give({.kind = Kind::kClosed});
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

}  // namespace
}  // namespace agent_graph::live
