// Tests of the sample agent, in both of its forms, with the library for tests of graphs.
#include <agent_graph/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace agent_graph;
using namespace agent_graph::graph_test;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

class Support : public testing::TestWithParam<const char*> {
 protected:
  TestGraph graph_ = TestGraph::Load(std::string(SAMPLE_GRAPHS) + GetParam());
};
INSTANTIATE_TEST_SUITE_P(BothForms, Support, testing::Values("support.json:app", "support.so:app"));

TEST_P(Support, TellsTheTime) {
  const json noon = {{"time", "2026-06-16T12:00:00"}, {"utc_offset_minutes", 540}};
  graph_.FakeTool("current_time", noon);
  graph_.model().Calls("current_time", {{"utc_offset_minutes", 540}}).Says("It is noon.");
  const RunResult run = graph_.Run("What time is it in Tokyo?");
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.Text(), "It is noon.");
  EXPECT_THAT(graph_.ToolCalls("current_time"), ElementsAre(json{{"utc_offset_minutes", 540}}));
  EXPECT_THAT(run.ToolOutputs(), ElementsAre(noon));
  // The model got the result.
  EXPECT_EQ(graph_.model().prompts().at(1).messages.back().ToolResults().size(), 1u);
  EXPECT_THAT(graph_.model().prompts().at(0).tools,
              ElementsAre("current_time", "calculator", "remember", "recall"));
}

TEST_P(Support, GoesOnAfterAFailedCalculation) {
  graph_.model().Calls("calculator", {{"expression", "1/0"}}).Says("That is not defined.");
  const RunResult run = graph_.Run("What is 1/0?");
  EXPECT_EQ(run.Text(), "That is not defined.");
  ASSERT_EQ(run.ToolOutputs().size(), 1u);
  EXPECT_TRUE(run.ToolOutputs()[0].contains("error"));
}

TEST_P(Support, AsksBeforeItRemembers) {
  graph_.FakeTool("remember", json{{"memory_id", "m"}});
  graph_.model().Calls("remember", {{"content", "likes tea"}});
  const RunResult paused = graph_.Run("Remember that I like tea.");
  ASSERT_TRUE(paused.pause.has_value());
  EXPECT_EQ(paused.pause->node, "ASK");
  EXPECT_EQ(paused.pause->reason, "May I store this? Answer yes or no.");
  EXPECT_THAT(graph_.ToolCalls("remember"), IsEmpty());

  graph_.model().Says("Noted.");
  const RunResult run = graph_.Run("yes");
  EXPECT_FALSE(run.pause.has_value());
  EXPECT_EQ(run.Text(), "Noted.");
  EXPECT_THAT(graph_.ToolCalls("remember"), ElementsAre(json{{"content", "likes tea"}}));
}

TEST_P(Support, RemembersNothingWithoutPermission) {
  graph_.FakeTool("remember", json{{"memory_id", "m"}});
  graph_.model().Calls("remember", {{"content", "likes tea"}}).Says("As you wish.");
  graph_.Run("Remember that I like tea.");
  const RunResult run = graph_.Run("no");
  EXPECT_EQ(run.Text(), "As you wish.");
  EXPECT_THAT(run.ToolOutputs(),
              ElementsAre(json{{"error", {{"error", "the user did not allow this"}}}}));
  EXPECT_THAT(graph_.ToolCalls("remember"), IsEmpty());
}

// The tools themselves, without fakes.
TEST_P(Support, RecallsWhatItRemembers) {
  graph_.model().Calls("remember", {{"content", "The user likes green tea."}}).Says("Noted.");
  graph_.Run("Remember that I like green tea.");
  graph_.Run("yes");
  graph_.model().Calls("recall", {{"query", "tea"}}).Says("You like green tea.");
  const RunResult run = graph_.Run("What do I like?", "another thread");
  EXPECT_EQ(run.ToolOutputs().at(0).at("memories").at(0).at("content"),
            "The user likes green tea.");
}

}  // namespace
