// Accepted runs that are asked to leave their worker.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "continuation_fixture.h"

namespace agent_graph::run {
namespace {

using LeavingTest = ContinuationTest;

TEST_F(LeavingTest, ARunLeavesBeforeItsNextNodeAndGoesOnThere) {
  std::atomic<int> calls = 0;
  AddAgentWithTools({MakeTool("add", false, [&](const json&, ToolContext&) -> ToolOutput {
    ++calls;
    hand_over_->Request();
    return "3";
  })});
  model_.script = {{.calls = {{"c1", "add", "{}", false}}}, {.pieces = {"Three."}}};
  const RunOutcome first = RunOk(Attempt(1));
  EXPECT_TRUE(first.left);
  EXPECT_EQ(state_.At("t1").last_status, "handed_over");
  EXPECT_EQ(appends_.back().current_node, "MAIN");
  EXPECT_EQ(appends_.back().step, 2);

  const RunOutcome second = RunOk(NextAttempt());
  EXPECT_FALSE(second.left);
  EXPECT_EQ(second.status, RunStatus::kDone);
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(json::parse(second.messages_json).size(), 4u);  // question, call, result, answer
  EXPECT_EQ(TextOf(json::parse(second.messages_json).back()), "Three.");
  const std::vector<std::string> kinds = state_.Kinds("t1");
  EXPECT_EQ(std::ranges::count(kinds, "run_started"), 1);
  EXPECT_EQ(std::ranges::count(kinds, "attempt_started"), 1);
  EXPECT_EQ(std::ranges::count(kinds, "run_finished"), 1);
  EXPECT_EQ(
      json::parse(finished_.usage_json),
      json({{"input_tokens", 6}, {"output_tokens", 4}, {"model_calls", 2}, {"tool_calls", 1}}));
}

TEST_F(LeavingTest, AModelCallIsCutAndAskedAgainElsewhere) {
  builder_.AddAgent("MAIN", {.system_prompt = "Be kind."});
  builder_.AddEdge(START, "MAIN");
  builder_.AddEdge("MAIN", END);
  model_.script = {{.pieces = {"Hel"}, .wait_for_cancel = true}, {.pieces = {"Hello."}}};
  model_.on_wait = [this] { hand_over_->RequestNow(); };
  EXPECT_TRUE(RunOk(Attempt(1)).left);
  EXPECT_EQ(appends_.back().current_node, "MAIN");
  EXPECT_EQ(appends_.back().step, 0);
  const RunOutcome second = RunOk(NextAttempt());
  EXPECT_EQ(second.status, RunStatus::kDone);
  EXPECT_EQ(json::parse(second.messages_json).size(), 2u);
}

TEST_F(LeavingTest, IdempotentCallsAreCutAndMadeAgain) {
  std::atomic<int> calls = 0;
  const std::shared_ptr<HandOver> first = hand_over_;
  AddAgentWithTools({MakeTool("look", true, [&](const json&, ToolContext& context) -> ToolOutput {
    if (calls++ > 0) return "1";
    first->RequestNow();
    while (!context.cancelled()) std::this_thread::yield();
    throw std::runtime_error("interrupted");
  })});
  model_.script = {{.calls = {{"c1", "look", "{}", false}}}, {.pieces = {"One."}}};
  EXPECT_TRUE(RunOk(Attempt(1)).left);
  EXPECT_EQ(appends_.back().current_node, "TOOLS");
  const std::vector<std::string> kinds = state_.Kinds("t1");
  EXPECT_EQ(std::ranges::count(kinds, "tool_finished"), 0);
  const RunOutcome second = RunOk(NextAttempt());
  ASSERT_EQ(ToolResults(second).size(), 1u);
  EXPECT_EQ(ToolResults(second)[0].at("output"), "1");
}

TEST_F(LeavingTest, OtherUserCodeIsNotCut) {
  builder_.AddFunction("A", [this](const State&, RunContext& context) -> NodeResult {
    hand_over_->RequestNow();
    return Message::Assistant(context.cancelled() ? "cut" : "whole");
  });
  builder_.AddFunction("B", Say("last"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", "B");
  builder_.AddEdge("B", END);
  EXPECT_TRUE(RunOk(Attempt(1)).left);
  EXPECT_EQ(appends_.back().current_node, "B");
  // A run on its way to another worker is no suspect if this one crashes.
  EXPECT_FALSE(appends_.back().in_user_code);
  const std::string& last = state_.At("t1").state.window.back().json;
  EXPECT_NE(last.find("whole"), std::string::npos);
}

// Another attempt would make its model call a second time.
TEST_F(LeavingTest, AnAgentThatRunsOnceIsNotCut) {
  builder_.AddAgent("MAIN", {.system_prompt = "Be kind."});
  builder_.AddFunction("B", Say("last"));
  builder_.AddEdge(START, "MAIN").AddEdge("MAIN", "B").AddEdge("B", END).SetOnce("MAIN");
  model_.script = {{.pieces = {"Hello."}}};
  bool cut = false;
  model_.on_reply = [&] {
    hand_over_->RequestNow();
    cut = cancellation_.cancelled();
  };
  EXPECT_TRUE(RunOk(Attempt(1)).left);
  EXPECT_FALSE(cut);
  EXPECT_EQ(appends_.back().current_node, "B");
  EXPECT_EQ(RunOk(NextAttempt()).status, RunStatus::kDone);
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(LeavingTest, ARunInItsLastNodeEnds) {
  builder_.AddFunction("A", [this](const State&, RunContext&) -> NodeResult {
    hand_over_->RequestNow();
    return Message::Assistant("ok");
  });
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  const RunOutcome outcome = RunOk(Attempt(1));
  EXPECT_FALSE(outcome.left);
  EXPECT_EQ(outcome.status, RunStatus::kDone);
}

// The reply was complete when the model call was cut.
TEST_F(LeavingTest, ARunThatLeavesAtAnInterruptIsPaused) {
  builder_.AddAgent("A", {.system_prompt = "Be kind."});
  builder_.AddFunction("B", Say("paid"));
  builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", END).InterruptBefore({"B"});
  model_.script = {{.pieces = {"Hello."}}};
  model_.on_reply = [this] { hand_over_->RequestNow(); };
  const RunOutcome outcome = RunOk(Attempt(1));
  EXPECT_FALSE(outcome.left);
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  EXPECT_EQ(finished_.status, "interrupted");
  EXPECT_EQ(json::parse(outcome.interrupt_json).at("node"), "B");
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "Hello.");
}

}  // namespace
}  // namespace agent_graph::run
