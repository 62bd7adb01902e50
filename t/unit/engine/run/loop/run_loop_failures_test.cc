// Runs that end early: failing nodes, limits, lost leases, failing sinks, an unavailable state.
#include "../run_fixture.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

using Kinds = std::vector<std::string>;

class RunLoopFailuresTest : public RunTest {};

TEST_F(RunLoopFailuresTest, AThrowingNodeEndsTheRunWithItsName) {
  builder_.AddFunction(
      "A", [](const State&, RunContext&) -> NodeResult { throw std::runtime_error("boom"); });
  builder_.AddEdge(START, "A");
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kError);
  EXPECT_EQ(outcome.error.code(), StatusCode::kGraph);
  EXPECT_EQ(outcome.error.message(), "node \"A\" failed: boom");
  auto errors = sink_.Of(RunEvent::Kind::kError);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].at("reason"), outcome.error.message());
  EXPECT_EQ(state_.At("t1").last_status, "error");
  json meta = json::parse(outcome.state_json).at("execution_meta");
  EXPECT_EQ(meta.at("is_running"), false);
  EXPECT_EQ(meta.at("status"), "error");
  EXPECT_EQ(meta.at("internal_data").at("error"), outcome.error.message());
}

TEST_F(RunLoopFailuresTest, ANonBlockingNodeThatThrowsEndsTheRunToo) {
  builder_.AddFunction(
      "A", [](const State&, RunContext&) -> NodeResult { throw 42; }, Execution::kNonBlocking);
  builder_.AddEdge(START, "A");
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kGraph);
}

TEST_F(RunLoopFailuresTest, ANodeThatExceedsItsTimeoutIsAbandoned) {
  auto release = std::make_shared<std::promise<void>>();
  std::shared_future<void> released = release->get_future();
  builder_.AddFunction(
      "A",
      [released](const State& state, RunContext& context) -> NodeResult {
        released.wait();
        EXPECT_FALSE(context.EmitText("too late"));
        return Message::Assistant(state.LastUserText());
      },
      Execution::kBlocking, std::chrono::milliseconds(20));
  builder_.AddEdge(START, "A");
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(outcome.error.message(), "the run took longer than it may");
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kMessageDelta).empty());
  release->set_value();
}

TEST_F(RunLoopFailuresTest, TheRecursionLimitIsAnErrorOfItsOwn) {
  builder_.AddFunction("A", Say("again")).AddEdge(START, "A").AddEdge("A", "A");
  RunRequest request = Ask("hi");
  request.recursion_limit = 3;
  RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.error.code(), StatusCode::kRecursionLimit);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 4u);
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessage).size(), 3u);
}

TEST_F(RunLoopFailuresTest, ASinkThatFailsStopsTheRun) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  sink_.on_event = [](const RunEvent&) { return Status(StatusCode::kCancelled, "gone"); };
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kStopped);
  EXPECT_EQ(cancellation_.reason(), runtime::CancelReason::kClientGone);
  EXPECT_EQ(state_.At("t1").state.window.size(), 2u);
}

TEST_F(RunLoopFailuresTest, AThrowingSinkStillReleasesTheLease) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  bool thrown = false;
  sink_.on_event = [&](const RunEvent&) -> Status {
    if (std::exchange(thrown, true)) return Status::Ok();
    throw std::runtime_error("bug");
  };
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kInternal);
}

TEST_F(RunLoopFailuresTest, ALostLeaseEndsTheRunAndWritesNothingMore) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  state_.before_append = [this](const state::AppendRunRequest& append) {
    if (append.current_node == "B") ++state_.At("t1").epoch;  // another run has taken over
    return Status::Ok();
  };
  bool finished = false;
  state_.before_finish = [&](const state::FinishRunRequest&) {
    finished = true;
    return Status::Ok();
  };
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kFenced);
  EXPECT_FALSE(finished);
  EXPECT_EQ(state_.At("t1").state.window.size(), 1u);
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kMessage).empty());
  state_.At("t1").leased = false;
}

TEST_F(RunLoopFailuresTest, AnUnavailableStateEndsTheRunAndItTriesToRelease) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.before_append = [](const state::AppendRunRequest&) {
    return Status(StatusCode::kUnavailable, "the state server does not answer");
  };
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kUnavailable);
  EXPECT_EQ(state_.At("t1").last_status, "error");
}

TEST_F(RunLoopFailuresTest, AFinishThatFailsIsTheRunsError) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.before_finish = [](const state::FinishRunRequest&) {
    return Status(StatusCode::kUnavailable, "the state server does not answer");
  };
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kError);
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kMessage).empty());
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kError).size(), 1u);
  state_.At("t1").leased = false;
}

TEST_F(RunLoopFailuresTest, TheDeadlineEndsTheRunAsAnError) {
  auto release = std::make_shared<std::promise<void>>();
  std::shared_future<void> released = release->get_future();
  builder_.AddFunction("A", [released](const State&, RunContext& context) -> NodeResult {
    EXPECT_FALSE(context.SleepFor(std::chrono::hours(1)));
    released.wait();
    return {};
  });
  builder_.AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.deadline = DeadlineAfter(std::chrono::milliseconds(30));
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.error.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(outcome.error.message(), "the run took longer than it may");
  release->set_value();
}

TEST_F(RunLoopFailuresTest, ShutdownIsAnError) {
  builder_.AddFunction("A", [this](const State&, RunContext& context) -> NodeResult {
    cancellation_.Cancel(runtime::CancelReason::kShutdown);
    EXPECT_TRUE(context.cancelled());
    return {};
  });
  builder_.AddFunction("B", Say("two")).AddEdge(START, "A").AddEdge("A", "B");
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kUnavailable);
}

TEST_F(RunLoopFailuresTest, BadInputFailsBeforeAnythingIsWritten) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.initial_state = std::make_shared<const json>(json::parse(R"({"context_summary":5})"));
  Result<RunOutcome> outcome = Run(request);
  EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(outcome.status().message().find("initial_state.context_summary"), std::string::npos);
  EXPECT_TRUE(sink_.starts.empty());
  EXPECT_EQ(state_.At("t1").epoch, 0u);
}

TEST_F(RunLoopFailuresTest, ABusyThreadNeverStarts) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.At("t1").leased = true;
  EXPECT_EQ(Run(Ask("hi")).status().code(), StatusCode::kBusy);
  EXPECT_TRUE(sink_.starts.empty());
  state_.At("t1").leased = false;
}

TEST_F(RunLoopFailuresTest, ASinkThatFailsAtAnUpdateGetsNoState) {
  sink_.states = true;
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  sink_.on_event = [](const RunEvent& event) {
    return event.kind == RunEvent::Kind::kUpdate ? Status(StatusCode::kCancelled, "gone")
                                                 : Status::Ok();
  };
  RunOk(Ask("hi"));
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kState).empty());
}

TEST_F(RunLoopFailuresTest, WhatCouldNotBeAppendedIsStoredWithTheEnd) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  state_.before_append = [](const state::AppendRunRequest& append) {
    return append.current_node == "B" ? Status(StatusCode::kUnavailable, "no state") : Status::Ok();
  };
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kUnavailable);
  EXPECT_EQ(state_.Kinds("t1"), (Kinds{"run_started", "message", "node_started", "message",
                                       "node_finished", "error", "run_finished"}));
  EXPECT_EQ(state_.At("t1").state.window.size(), 2u);
}

TEST_F(RunLoopFailuresTest, TextsOfExceptionsMayBeHidden) {
  options_.services.show_exception_text = false;
  builder_.AddFunction(
      "A", [](const State&, RunContext&) -> NodeResult { throw std::runtime_error("secret"); });
  builder_.AddEdge(START, "A");
  EXPECT_EQ(RunOk(Ask("hi")).error.message(), "node \"A\" failed");
}

TEST_F(RunLoopFailuresTest, AnInitialStateThatIsTooLargeEndsTheRun) {
  options_.services.run_bytes_max = 8 * 1024;
  builder_.AddField({.name = "note"});
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  const std::string text(9000, 'x');
  RunRequest request = Ask("hi");
  request.initial_state = std::make_shared<const json>(json{{"note", text}});
  EXPECT_EQ(RunOk(request).error.code(), StatusCode::kGraph);
  request.initial_state.reset();
  request.initial_context = {Message::User(text)};
  EXPECT_EQ(RunOk(request).error.code(), StatusCode::kGraph);
  // Stored messages count, too.
  EXPECT_EQ(RunOk(Ask(std::string(5000, 'x'))).status, RunStatus::kDone);
  EXPECT_EQ(RunOk(Ask(std::string(5000, 'x'))).error.code(), StatusCode::kGraph);
}

}  // namespace
}  // namespace agent_graph::run
