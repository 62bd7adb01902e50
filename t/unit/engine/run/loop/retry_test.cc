// Retries and timeouts of nodes.
#include <atomic>

#include "../run_fixture.h"
#include "models/call_options.h"

namespace agent_graph::run {
namespace {

using std::chrono::milliseconds;

class RetryTest : public RunTest {
 protected:
  // Throws `failures` times, then answers.
  NodeFunction Failing(int failures) {
    return [this, failures](const State&, RunContext&) -> NodeResult {
      if (++calls_ <= failures) throw std::runtime_error("not yet");
      return Message::Assistant("after " + std::to_string(calls_));
    };
  }
  static Tool Look() {
    Tool tool;
    tool.name = "look";
    tool.function = [](const json&, ToolContext&) -> ToolOutput { return "1"; };
    return tool;
  }
  std::atomic<int> calls_{0};
};

TEST_F(RetryTest, AFunctionThatThrowsIsRetried) {
  builder_.AddFunction("A", Failing(2)).AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 3, .delay = milliseconds(1)});
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "after 3");
  const auto kinds = state_.Kinds("t1");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "node_retry"), 2);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "node_started"), 1);
}

TEST_F(RetryTest, TheLastFailureEndsTheRun) {
  builder_.AddFunction("A", Failing(5)).AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 3, .delay = milliseconds(1)});
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.message(), "node \"A\" failed: not yet");
  EXPECT_EQ(calls_, 3);
}

TEST_F(RetryTest, OneAttemptIsTheDefault) {
  builder_.AddFunction("A", Failing(1)).AddEdge(START, "A");
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kError);
  EXPECT_EQ(calls_, 1);
}

TEST_F(RetryTest, AModelThatFailedIsAskedAgain) {
  builder_.AddAgent("A", {}).AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 2, .delay = milliseconds(1)});
  model_.script.push_back({.failure = Status(StatusCode::kModel, "overloaded")});
  model_.script.push_back({.pieces = {"fine"}});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
  EXPECT_EQ(model_.requests.size(), 2u);
}

TEST_F(RetryTest, ADemandForAToolCallHoldsUntilAModelHasReplied) {
  AddAgentWithTools({Look()});
  builder_.SetRetry("MAIN", {.attempts_max = 2, .delay = milliseconds(1)});
  model_.script = {{.failure = Status(StatusCode::kModel, "overloaded")},
                   {.calls = {{"c1", "look", "{}", false}}},
                   {.pieces = {"fine"}}};
  const auto options = std::make_shared<models::CallOptions>();
  options->tool_choice = models::CallOptions::ToolChoice::kRequired;
  RunRequest request = Ask("hi");
  request.call_options = options;
  EXPECT_EQ(RunOk(request).status, RunStatus::kDone);
  ASSERT_EQ(model_.requests.size(), 3u);
  EXPECT_TRUE(model_.requests[0].forces_tool);
  EXPECT_TRUE(model_.requests[1].forces_tool);
  EXPECT_FALSE(model_.requests[2].forces_tool);
}

TEST_F(RetryTest, TimeoutsMayBeLongerThanTheClockCanReach) {
  Tool look = Look();
  look.timeout = milliseconds::max();
  AddAgentWithTools({std::move(look)});
  builder_.SetTimeout("MAIN", milliseconds::max());
  model_.script = {{.calls = {{"c1", "look", "{}", false}}}, {.pieces = {"fine"}}};
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 4u);
  EXPECT_EQ(json::parse(outcome.messages_json)[2].at("content").at(0).at("output"), "1");
}

TEST_F(RetryTest, TextThatAClientHasSeenIsNotRepeated) {
  builder_.AddAgent("A", {}).AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 2, .delay = milliseconds(1)});
  model_.script.push_back({.pieces = {"half "}, .failure = Status(StatusCode::kModel, "cut")});
  model_.script.push_back({.pieces = {"whole"}});
  EXPECT_EQ(RunOk(Ask("hi")).error.message(), "cut");
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(RetryTest, AnInvokeShowsNoPiecesAndMayAskAgain) {
  builder_.AddAgent("A", {}).AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 2, .delay = milliseconds(1)});
  sink_.deltas = false;
  model_.script.push_back({.pieces = {"half "}, .failure = Status(StatusCode::kModel, "cut")});
  model_.script.push_back({.pieces = {"whole"}});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
}

TEST_F(RetryTest, AModelThatExceedsTheNodesTimeoutNamesTheNode) {
  builder_.AddAgent("A", {}).AddEdge(START, "A").SetTimeout("A", milliseconds(20));
  model_.script.push_back({.wait_for_cancel = true});
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(outcome.error.message(), "node \"A\" did not finish within 20 ms");
}

TEST_F(RetryTest, ATimeoutOfOneAttemptLeavesTimeForTheNext) {
  builder_.AddAgent("A", {}).AddEdge(START, "A").SetTimeout("A", milliseconds(20));
  // A loaded machine may need more than 20 ms for any attempt.
  builder_.SetRetry("A", {.attempts_max = 10, .delay = milliseconds(1)});
  model_.script.push_back({.wait_for_cancel = true});
  for (int i = 1; i < 10; ++i) model_.script.push_back({.pieces = {"fine"}});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
}

TEST_F(RetryTest, TheRunsDeadlineBeatsTheRetries) {
  builder_.AddFunction("A", Failing(5)).AddEdge(START, "A");
  builder_.SetRetry(
      "A",
      {.attempts_max = 100, .delay = std::chrono::hours(1), .delay_max = std::chrono::hours(1)});
  RunRequest request = Ask("hi");
  request.deadline = DeadlineAfter(std::chrono::seconds(30));
  EXPECT_EQ(RunOk(request).error.message(), "node \"A\" failed: not yet");
  EXPECT_EQ(calls_, 1);
}

TEST_F(RetryTest, ACancelledRunIsNotRetried) {
  builder_.AddFunction("A", [this](const State&, RunContext&) -> NodeResult {
    ++calls_;
    cancellation_.Cancel(runtime::CancelReason::kStopped);
    throw std::runtime_error("stopped");
  });
  builder_.AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 5, .delay = milliseconds(1)});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kStopped);
  EXPECT_EQ(calls_, 1);
}

TEST_F(RetryTest, ANodeOfASubgraphKeepsItsPolicy) {
  GraphBuilder inner;
  inner.AddFunction("A", Failing(1)).AddEdge(START, "A");
  inner.SetRetry("A", {.attempts_max = 2, .delay = milliseconds(1)});
  builder_.AddSubgraph("TEAM", inner).AddFunction("B", Say("end"));
  builder_.AddEdge(START, "TEAM").AddEdge("TEAM", "B");
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 3u);
  EXPECT_EQ(sink_.events[0].node, "TEAM/A");
}

TEST_F(RetryTest, WhatAnEarlierNodeHasShownDoesNotMatter) {
  builder_.AddAgent("A", {}).AddAgent("B", {}).AddEdge(START, "A").AddEdge("A", "B");
  builder_.SetRetry("B", {.attempts_max = 2, .delay = milliseconds(1)});
  model_.script.push_back({.pieces = {"shown"}});
  model_.script.push_back({.failure = Status(StatusCode::kModel, "overloaded")});
  model_.script.push_back({.pieces = {"fine"}});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessageDelta).size(), 2u);
}

TEST_F(RetryTest, AFailureThatWouldRepeatIsNotTriedAgain) {
  builder_.AddAgent("A", {}).AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 3, .delay = milliseconds(1)});
  for (StatusCode code : {StatusCode::kInvalidArgument, StatusCode::kInternal}) {
    model_.requests.clear();
    model_.script = {{.failure = Status(code, "no")}, {.pieces = {"fine"}}};
    EXPECT_EQ(RunOk(Ask("hi")).error.code(), code);
    EXPECT_EQ(model_.requests.size(), 1u);
  }
}

TEST_F(RetryTest, TheLogSaysWhichAttemptFailed) {
  builder_.AddFunction("A", Failing(2)).AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 3, .delay = milliseconds(1)});
  RunOk(Ask("hi"));
  json attempts = json::array();
  for (const state::LogEntry& entry : state_.At("t1").log) {
    if (entry.kind == "node_retry") attempts.push_back(json::parse(entry.json));
  }
  const std::string reason = "node \"A\" failed: not yet";
  EXPECT_EQ(attempts, json({{{"node", "A"}, {"attempt", 1}, {"reason", reason}},
                            {{"node", "A"}, {"attempt", 2}, {"reason", reason}}}));
}

}  // namespace
}  // namespace agent_graph::run
