// Tools that the model calls, and agents that it hands over to.
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

TEST_F(SessionTest, AnAgentWithAnotherModelGetsAConnectionToThat) {
  targets_ = {"EXPERT"};
  entries_ = {{"VOICE", "default"}, {"EXPERT", "clever"}};
  BeginReady();
  Give({.kind = Kind::kToolCalls, .calls = {{"c1", kTransferTool, R"({"agent":"EXPERT"})"}}});
  EXPECT_THAT(sent_, IsEmpty());
  ASSERT_EQ(configs_.size(), 2u);
  EXPECT_EQ(configs_[1].entry, "clever");
  EXPECT_TRUE(configs_[1].respond);
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

}  // namespace
}  // namespace agent_graph::live
