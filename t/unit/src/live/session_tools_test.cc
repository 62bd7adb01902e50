// Tools that the model calls, and handovers to other agents.
#include "session_fixture.h"

namespace agent_graph::live {
namespace {

TEST_F(SessionTest, ToolsAreCalledAndAnswered) {
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", "add", R"({"a":1})"}}});
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"tool_call","id":"c1","name":"add","args":{"a":1}})"));
  EXPECT_THAT(called_, ElementsAre("add"));
  EXPECT_THAT(stored_, ElementsAre("assistant: call add"));
  Client(kAudio, "meanwhile");
  session_->OnToolReplies({{"c1", "add", "3", false}}, {}, calls_number_, now_);
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"tool_result","id":"c1","result":{"result":3}})"));
  EXPECT_THAT(sent_, ElementsAre("audio meanwhile", "reply c13"));
}

TEST_F(SessionTest, WordsBeforeCallsAreStoredBeforeThem) {
  BeginReady();
  Say("Let me look.");
  GiveAudio(seconds(2));
  unplayed_ = seconds(2);
  TakeEvents();
  CallAdd();
  EXPECT_THAT(TakeEvents(), ElementsAre(R"({"type":"output_transcript","text":"","finished":true})",
                                        HasSubstr("tool_call")));
  EXPECT_THAT(stored_, ElementsAre("assistant: Let me look.", "assistant: call add"));
  session_->OnToolReplies({{"c1", "add", "3", false}}, {Message::ToolResult("c1", "3", false)},
                          calls_number_, now_);
  Say("Two.");
  Give({.kind = Kind::kTurnComplete});
  After(seconds(2));
  EXPECT_THAT(stored_, ElementsAre("assistant: Let me look.", "assistant: call add",
                                   "tool: result 3", "assistant: Two."));
  EXPECT_EQ(metadata_.front(), R"({"modality":"audio","agent":"VOICE"})");
  EXPECT_EQ(metadata_.back(), R"({"agent":"VOICE"})");
}

TEST_F(SessionTest, TheAudioBeforeCallsCountsForAnInterruptionOfTheRest) {
  BeginReady();
  Say("Let me look.");
  GiveAudio(seconds(2));
  CallAdd();
  AnswerAdd();
  sent_.clear();
  Say("Two");
  GiveAudio(seconds(1));
  Say(" and a half.");
  GiveAudio(seconds(1));
  unplayed_ = milliseconds(1500);
  Give({.kind = Kind::kInterrupted});
  EXPECT_THAT(sent_, ElementsAre("heard 2500"));
  EXPECT_THAT(stored_,
              ElementsAre("assistant: Let me look.", "assistant: call add", "assistant: Two"));
}

// The text that a new connection receives about the call below.
constexpr char kInWords[] = "The tool add, called with {\"a\":1}, returned 3";

TEST_F(SessionTest, ALinkThatDidNotMakeACallGetsItsResultAsText) {
  BeginReady();
  Client(kText, "a question");
  CallAdd();
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_FALSE(configs_[1].respond);  // otherwise the model would call again
  Give({.kind = Kind::kReady});
  sent_.clear();
  AnswerAdd();
  EXPECT_THAT(sent_, ElementsAre(std::string("text ") + kInWords));
  Say("Three.");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, ElementsAre("user: a question", "assistant: call add", "assistant: Three."));
}

TEST_F(SessionTest, AResultWithoutALinkIsInTheHistoryOfTheNext) {
  BeginReady();
  CallAdd();
  Give({.kind = Kind::kClosed});
  AnswerAdd();
  After(milliseconds(500));
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), kInWords);
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(SessionTest, AResumedLinkGetsAResult) {
  BeginReady({.resumption_handle = "h"});
  CallAdd();
  Give({.kind = Kind::kClosed});
  AnswerAdd();
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "h");
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), kInWords);
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(SessionTest, AResultThatWasSentBeforeALossIsSentAgain) {
  BeginReady({.resumption_handle = "h"});
  Client(kText, "a question");
  CallAdd();
  Give({.kind = Kind::kResumption, .text = "i"});
  AnswerAdd();
  EXPECT_THAT(sent_, ElementsAre("text a question", "reply c13"));
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  EXPECT_EQ(configs_[1].resumption_handle, "i");
  EXPECT_TRUE(configs_[1].respond);
  EXPECT_EQ(configs_[1].history.back().Text(), kInWords);
}

TEST_F(SessionTest, AResultDoesNotInterruptTheModel) {
  BeginReady();
  CallAdd();
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  Give({.kind = Kind::kReady});
  Say("By the way");
  AnswerAdd();
  EXPECT_THAT(sent_, IsEmpty());
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(sent_, ElementsAre(std::string("text ") + kInWords));
}

TEST_F(SessionTest, AResultOutlivesALinkThatIsReplaced) {
  one_link_ = true;
  BeginReady();
  CallAdd();
  Give({.kind = Kind::kGoAway, .time_left = seconds(10)});
  GiveNext({.kind = Kind::kPrepared});
  EXPECT_THAT(sent_, IsEmpty());
  After(seconds(8));
  EXPECT_THAT(sent_, ElementsAre("leave"));
  AnswerAdd();
  Give({.kind = Kind::kClosed});
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), kInWords);
}

TEST_F(SessionTest, HugeResultsLeaveRoomForMessages) {
  BeginReady({.history = {Message::User("earlier")}});
  std::vector<realtime::ToolCall> calls;
  std::vector<realtime::ToolReply> replies;
  for (int i = 0; i < 40; ++i) {
    calls.push_back({std::to_string(i), "read"});
    replies.push_back({std::to_string(i), "read", std::string(100'000, '7'), false});
  }
  Give({.kind = Kind::kToolCalls, .calls = calls});
  session_->OnToolReplies(replies, {}, calls_number_, now_);
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  ASSERT_EQ(configs_.size(), 2u);
  ASSERT_EQ(configs_[1].history.size(), 2u);
  EXPECT_EQ(configs_[1].history[0].Text(), "earlier");
}

TEST_F(SessionTest, HugeUnsentResultsLeaveRoomForMessages) {
  BeginReady({.history = {Message::User("earlier")}});
  std::vector<realtime::ToolCall> calls;
  std::vector<realtime::ToolReply> replies;
  for (int i = 0; i < 8; ++i) {
    calls.push_back({std::to_string(i), "read"});
    replies.push_back({std::to_string(i), "read", std::string(100'000, '7'), false});
  }
  for (int i = 0; i < 10; ++i) Give({.kind = Kind::kToolCalls, .calls = calls});
  Give({.kind = Kind::kClosed});
  for (uint64_t number = 1; number <= 10; ++number) {
    session_->OnToolReplies(replies, {}, number, now_);
  }
  After(milliseconds(500));
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 2u);
  EXPECT_EQ(configs_[1].history[0].Text(), "earlier");
}

TEST_F(SessionTest, TheEndWaitsForAResultThatOutlivesItsLink) {
  BeginReady();
  CallAdd();
  Client(kClose);
  Give({.kind = Kind::kClosed});
  EXPECT_EQ(close_code_, 0);
  After(milliseconds(500));
  Give({.kind = Kind::kReady});
  EXPECT_EQ(close_code_, 0);
  AnswerAdd();
  Say("Three.");
  EXPECT_EQ(close_code_, 0);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_EQ(close_code_, 1000);
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

TEST_F(SessionTest, WordsBelongToTheAgentThatSpokeThem) {
  targets_ = {"EXPERT"};
  BeginReady();
  Say("One moment.");
  GiveAudio(seconds(1));
  unplayed_ = seconds(1);
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  Say("Hello.");
  unplayed_ = seconds(0);
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(stored_, ElementsAre("assistant: One moment.", "assistant: Hello."));
  EXPECT_THAT(metadata_, ElementsAre(HasSubstr("VOICE"), HasSubstr("EXPERT")));
}

TEST_F(SessionTest, WordsBeforeAHandoverDoNotHideTheQuestion) {
  targets_ = {"EXPERT"};
  BeginReady();
  link_->reconfigurable = false;
  Client(kAudio, "the expert, please");
  Hear("the expert, please", true);
  Say("One moment.");
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  ASSERT_EQ(configs_.size(), 2u);  // no wait for a transcript
  EXPECT_TRUE(configs_[1].respond);
  EXPECT_EQ(configs_[1].history.size(), 2u);
}

TEST_F(SessionTest, HandsOverToANewLinkWithTheHistory) {
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

TEST_F(SessionTest, AnAgentWithAnotherModelGetsALinkToIt) {
  targets_ = {"EXPERT"};
  entries_ = {{"VOICE", "default"}, {"EXPERT", "clever"}};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  EXPECT_THAT(sent_, IsEmpty());
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].entry, "clever");
  EXPECT_TRUE(configs_[1].respond);
}

const realtime::ToolCall kAddCall{"c1", "add", R"({"a":1})"};
const realtime::ToolCall kTransferCall{"c2", kTransferTool, R"({"agent":"EXPERT"})"};

TEST_F(SessionTest, HandsOverInPlaceOnceTheOtherToolsAreDone) {
  targets_ = {"EXPERT"};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {kTransferCall, kAddCall}});
  EXPECT_EQ(session_->agent(), "VOICE");
  EXPECT_THAT(sent_, IsEmpty());
  AnswerAdd();
  EXPECT_EQ(session_->agent(), "EXPERT");
  EXPECT_THAT(sent_, ElementsAre("now EXPERT", "reply c13", R"(reply c2{"result":"ok"})"));
}

TEST_F(SessionTest, ANewLinkGetsTheResultsBeforeTheHandover) {
  targets_ = {"EXPERT"};
  BeginReady({.resumption_handle = "h"});
  link_->reconfigurable = false;
  Give({.kind = Kind::kToolCalls, .calls = {kAddCall, kTransferCall}});
  EXPECT_EQ(configs_.size(), 1u);
  AnswerAdd();
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].system_prompt, "EXPERT");
  EXPECT_TRUE(configs_[1].respond);
  ASSERT_EQ(configs_[1].history.size(), 1u);
  EXPECT_EQ(configs_[1].history[0].Text(), kInWords);
  Give({.kind = Kind::kReady});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(SessionTest, AHandoverOutlivesItsLink) {
  targets_ = {"EXPERT"};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {kAddCall, kTransferCall}});
  Give({.kind = Kind::kClosed});
  After(milliseconds(500));
  Give({.kind = Kind::kReady});
  EXPECT_EQ(session_->agent(), "VOICE");
  AnswerAdd();
  ASSERT_EQ(configs_.size(), 3u);
  EXPECT_EQ(configs_[2].system_prompt, "EXPERT");
  EXPECT_TRUE(configs_[2].respond);
  EXPECT_EQ(configs_[2].history.back().Text(), kInWords);
}

TEST_F(SessionTest, OnlyTheClientGetsTheResultOfACancelledCall) {
  BeginReady();
  CallAdd();
  Give({.kind = Kind::kToolsCancelled, .calls = {{.id = "c1", .name = ""}}});
  Give({.kind = Kind::kInterrupted});
  Say("As you like.");
  Give({.kind = Kind::kTurnComplete});
  TakeEvents();
  sent_.clear();
  AnswerAdd();
  EXPECT_THAT(TakeEvents(),
              ElementsAre(R"({"type":"tool_result","id":"c1","result":{"result":3}})"));
  EXPECT_THAT(sent_, IsEmpty());
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, TheEndDoesNotWaitForACancelledCall) {
  BeginReady();
  CallAdd();
  Give({.kind = Kind::kInterrupted});
  Give({.kind = Kind::kToolsCancelled, .calls = {{.id = "c1", .name = ""}}});
  Say("As you like.");
  Give({.kind = Kind::kTurnComplete});
  Client(kClose);
  EXPECT_EQ(close_code_, 1000);
}

TEST_F(SessionTest, OtherCallsThanTheCancelledOneAreAnswered) {
  targets_ = {"EXPERT"};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {kAddCall, {"c3", "now"}, kTransferCall}});
  Give({.kind = Kind::kToolsCancelled,
        .calls = {{.id = "c2", .name = ""}, {.id = "c3", .name = ""}}});
  session_->OnToolReplies({{"c1", "add", "3", false}, {"c3", "now", "9", false}}, {}, calls_number_,
                          now_);
  EXPECT_EQ(session_->agent(), "VOICE");
  EXPECT_THAT(sent_, ElementsAre("reply c13"));
}

TEST_F(SessionTest, AHandoverDoesNotWaitForCancelledCalls) {
  targets_ = {"EXPERT"};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {kAddCall, kTransferCall}});
  Give({.kind = Kind::kToolsCancelled, .calls = {{.id = "c1", .name = ""}}});
  EXPECT_EQ(session_->agent(), "EXPERT");
}

TEST_F(SessionTest, AHandoverToAnUnknownAgentFails) {
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
  session_->OnToolReplies({{"c1", "add", "3", false}}, {}, calls_number_, now_);
  After(milliseconds(1));
  After(milliseconds(200));
  Say("three");
  Give({.kind = Kind::kTurnComplete});
  EXPECT_THAT(answers_, ElementsAre("tool_calls 100", "stop 200"));
  Say("and");
  Give({.kind = Kind::kInterrupted});
  EXPECT_EQ(answers_.back(), "interrupted 0");
}

}  // namespace
}  // namespace agent_graph::live
