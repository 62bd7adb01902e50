// The causes of a run's end: its last node, or a cancellation.
#include "../run_fixture.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

class RunEndingTest : public RunTest {
 protected:
  // Holds whether the function returns first or its deadline passes first.
  void ExpectThatACutShortFunctionFails(Execution execution) {
    builder_.AddFunction(
        "A",
        [](const State&, RunContext& context) -> NodeResult {
          EXPECT_FALSE(context.SleepFor(std::chrono::hours(1)));
          return Message::Assistant("half");
        },
        execution, std::chrono::milliseconds(1));
    builder_.AddEdge(START, "A");
    const RunOutcome outcome = RunOk(Ask("hi"));
    EXPECT_EQ(outcome.error.code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(json::parse(outcome.messages_json).size(), 1u);
  }
};

TEST_F(RunEndingTest, ACancelledLastNodeIsNoNormalEnd) {
  runtime::CancelReason reason = runtime::CancelReason::kNone;
  builder_.AddFunction(
      "A",
      [&](const State&, RunContext& context) -> NodeResult {
        cancellation_.Cancel(reason);
        EXPECT_FALSE(context.SleepFor(std::chrono::hours(1)));
        return Message::Assistant("half");
      },
      Execution::kNonBlocking);
  builder_.AddEdge(START, "A");
  struct Case {
    runtime::CancelReason reason;
    StatusCode code;
    RunStatus status;
  };
  for (const Case& expected :
       {Case{runtime::CancelReason::kDeadline, StatusCode::kDeadlineExceeded, RunStatus::kError},
        Case{runtime::CancelReason::kShutdown, StatusCode::kUnavailable, RunStatus::kError},
        Case{runtime::CancelReason::kStopped, StatusCode::kOk, RunStatus::kStopped},
        Case{runtime::CancelReason::kClientGone, StatusCode::kOk, RunStatus::kStopped}}) {
    SCOPED_TRACE(CancelReasonName(expected.reason));
    reason = expected.reason;
    cancellation_ = runtime::Cancellation();
    const RunOutcome outcome = RunOk(Ask("hi"));
    EXPECT_EQ(outcome.error.code(), expected.code);
    EXPECT_EQ(outcome.status, expected.status);
    EXPECT_EQ(state_.At("t1").last_status, RunStatusName(expected.status));
    const json finished = json::parse(state_.At("t1").log.back().json);
    EXPECT_EQ(finished.at("status"), RunStatusName(expected.status));
    EXPECT_EQ(finished.at("reason"), CancelReasonName(expected.reason));
  }
}

TEST_F(RunEndingTest, ACancelledPauseIsNoPauseUnlessTheClientLeft) {
  runtime::CancelReason reason = runtime::CancelReason::kNone;
  builder_.AddFunction(
      "A",
      [&](const State&, RunContext&) -> NodeResult {
        cancellation_.Cancel(reason);
        return NodeResult().Pause("asked");
      },
      Execution::kNonBlocking);
  builder_.AddFunction("B", Say("two")).AddEdge(START, "A").AddEdge("A", "B");
  reason = runtime::CancelReason::kStopped;
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kStopped);
  EXPECT_EQ(json::parse(outcome.state_json).at("execution_meta").at("is_interrupted"), false);
  reason = runtime::CancelReason::kClientGone;
  cancellation_ = runtime::Cancellation();
  outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  EXPECT_EQ(json::parse(outcome.state_json).at("execution_meta").at("is_interrupted"), true);
}

TEST_F(RunEndingTest, AResumedRunThatIsCancelledAtOnceStaysPaused) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B").InterruptBefore({"B"});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kInterrupted);
  for (runtime::CancelReason reason :
       {runtime::CancelReason::kClientGone, runtime::CancelReason::kDeadline}) {
    cancellation_ = runtime::Cancellation();
    cancellation_.Cancel(reason);
    const RunOutcome outcome = RunOk(Ask("on"));
    EXPECT_NE(outcome.status, RunStatus::kDone);
    EXPECT_EQ(json::parse(outcome.state_json).at("execution_meta").at("interrupted_node"), "B");
  }
  cancellation_ = runtime::Cancellation();
  const RunOutcome outcome = RunOk(Ask("on"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "two");
}

TEST_F(RunEndingTest, AnExceptionAfterTheLastNodeStillReleasesTheLease) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.before_finish = [armed = true](const state::FinishRunRequest&) mutable {
    if (std::exchange(armed, false)) throw std::runtime_error("bug");
    return Status::Ok();
  };
  EXPECT_EQ(Run(Ask("hi")).status().code(), StatusCode::kInternal);
  EXPECT_FALSE(state_.AnyLease());
}

TEST_F(RunEndingTest, AnExceptionBeforeTheFirstNodeReleasesTheLease) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.remote_tools.version = 1;
  state_.on_remote_tools_read = [armed = true]() mutable {
    if (std::exchange(armed, false)) throw std::bad_alloc();
  };
  EXPECT_EQ(Run(Ask("hi")).status().code(), StatusCode::kInternal);
  EXPECT_FALSE(state_.AnyLease());
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
}

TEST_F(RunEndingTest, ACancellationAfterTheEndIsNotItsReason) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.before_finish = [this](const state::FinishRunRequest&) {
    cancellation_.Cancel(runtime::CancelReason::kDeadline);
    return Status::Ok();
  };
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
  EXPECT_FALSE(json::parse(state_.At("t1").log.back().json).contains("reason"));
}

TEST_F(RunEndingTest, AFunctionThatWasCutShortHasNotFinished) {
  ExpectThatACutShortFunctionFails(Execution::kBlocking);
}

TEST_F(RunEndingTest, AFunctionOnTheFiberThatWasCutShortHasNotFinished) {
  ExpectThatACutShortFunctionFails(Execution::kNonBlocking);
}

TEST_F(RunEndingTest, TheLogSaysWhyARunFailed) {
  builder_.AddFunction(
      "A", [](const State&, RunContext&) -> NodeResult { throw std::runtime_error("\"boom\""); });
  builder_.AddEdge(START, "A");
  RunOk(Ask("hi"));
  const auto& log = state_.At("t1").log;
  ASSERT_GE(log.size(), 2u);
  const state::LogEntry& entry = log[log.size() - 2];
  EXPECT_EQ(entry.kind, "error");
  EXPECT_EQ(json::parse(entry.json), json({{"status", "error"},
                                           {"code", "GRAPH"},
                                           {"reason", "node \"A\" failed: \"boom\""},
                                           {"node", "A"},
                                           {"step", 0}}));
  const RunEvent& event = sink_.events.back();
  EXPECT_EQ(event.kind, RunEvent::Kind::kError);
  EXPECT_EQ(event.node, "A");
  EXPECT_EQ(event.step, 1);
  const json stored = json::parse(state_.At("t1").state.snapshot.execution_json);
  EXPECT_EQ(stored.at("status"), "error");
  EXPECT_EQ(stored.at("error"), "node \"A\" failed: \"boom\"");
}

TEST_F(RunEndingTest, TheLogSaysWhereARunPaused) {
  builder_.AddFunction("A", [](const State&, RunContext&) -> NodeResult {
    NodeResult result;
    result.interrupt = Interrupt{"approve \"it\"?", R"({"amount":3})"};
    return result;
  });
  builder_.AddFunction("B", Say("two")).AddEdge(START, "A").AddEdge("A", "B");
  RunOk(Ask("hi"));
  const auto& log = state_.At("t1").log;
  const state::LogEntry& entry = log[log.size() - 2];
  EXPECT_EQ(entry.kind, "interrupted");
  EXPECT_EQ(json::parse(entry.json), json({{"node", "A"},
                                           {"status", "interrupted_after"},
                                           {"reason", "approve \"it\"?"},
                                           {"data", {{"amount", 3}}}}));
}

TEST_F(RunEndingTest, APauseWithBrokenDataIsAFailure) {
  builder_.AddFunction("A", [](const State&, RunContext&) -> NodeResult {
    NodeResult result;
    result.interrupt = Interrupt{"approve it?", R"({"amount":)"};
    return result;
  });
  builder_.AddEdge(START, "A");
  EXPECT_EQ(RunOk(Ask("hi")).error.message(),
            "node \"A\" interrupted the run with data that is not valid JSON");
}

TEST_F(RunEndingTest, AFailedNodeIsTheReasonEvenIfTheEndIsNotStored) {
  builder_.AddFunction(
      "A", [](const State&, RunContext&) -> NodeResult { throw std::runtime_error("boom"); });
  builder_.AddEdge(START, "A");
  state_.before_finish = [](const state::FinishRunRequest&) {
    return Status(StatusCode::kUnavailable, "no state");
  };
  EXPECT_EQ(RunOk(Ask("hi")).error.message(), "node \"A\" failed: boom");
  state_.At("t1").leased = false;
}

TEST_F(RunEndingTest, ARunWhoseEndIsNotStoredIsShownAsFailed) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.before_finish = [](const state::FinishRunRequest&) {
    return Status(StatusCode::kUnavailable, "no state");
  };
  const json meta = json::parse(RunOk(Ask("hi")).state_json).at("execution_meta");
  EXPECT_EQ(meta.at("status"), "error");
  EXPECT_EQ(meta.at("internal_data").at("error"), "no state");
  state_.At("t1").leased = false;
}

TEST_F(RunEndingTest, ARunThatWasRefusedItsLeaseNamesNoThread) {
  int names = 0;
  options_.services.name_thread = [&](const std::vector<std::string>&) {
    return std::to_string(++names);
  };
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  state_.before_append = [this](const state::AppendRunRequest&) {
    ++state_.At("t1").epoch;  // another run has taken over
    return Status::Ok();
  };
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kFenced);
  EXPECT_EQ(names, 0);
  state_.At("t1").leased = false;
}

}  // namespace
}  // namespace agent_graph::run
