// Invariants of the run loop: a transition that breaks one ends the process.
#include <gtest/gtest.h>

#include <memory>

#include "../run_fixture.h"
#include "run/loop/run_loop.h"
#include "run/run_environment.h"

namespace agent_graph::run {
namespace {

class RunLoopDeathTest : public testing::Test {
 protected:
  static std::shared_ptr<const RunEnvironment> Environment() {
    GraphBuilder builder;
    builder.AddFunction(
        "A", [](const State&, RunContext&) -> NodeResult { return Message::Assistant("said"); });
    builder.AddEdge(START, "A");
    auto environment = std::make_shared<RunEnvironment>();
    environment->graph = graph::CompiledGraph::Compile(builder, "test").value();
    environment->thread_id = "t";
    environment->run_id = "run";
    environment->user = environment->config = std::make_shared<const json>(json::object());
    return environment;
  }

  RunRequest request_;
  RecordingSink sink_;
  RunLoop loop_{Environment(), request_, nullptr, {}, {}, sink_};
};

TEST_F(RunLoopDeathTest, ARunIsDrivenOnce) {
  loop_.next_ = "A";
  EXPECT_DEATH((void)loop_.Drive({}, {}, {}), "check failed: .*a run is driven once");
  loop_.next_.clear();
  loop_.meta_.step = 1;
  EXPECT_DEATH((void)loop_.Drive({}, {}, {}), "a run is driven once");
}

TEST_F(RunLoopDeathTest, AWindowIsDecodedCompletelyOrNotAtAll) {
  EXPECT_DEATH((void)loop_.thread_.Load({}, {Message::User("x")}),
               "a window is decoded completely or not at all");
}

TEST_F(RunLoopDeathTest, APausedRunTakesNoStep) {
  loop_.next_ = "A";
  loop_.paused_ = true;
  EXPECT_DEATH((void)loop_.Step(), "a run that paused or reached the end takes no step");
}

TEST_F(RunLoopDeathTest, ARunAtItsEndTakesNoStep) {
  loop_.next_ = END;
  EXPECT_DEATH((void)loop_.Step(), "a run that paused or reached the end takes no step");
}

TEST_F(RunLoopDeathTest, ARunThatLostItsLeaseExecutesNoNode) {
  loop_.next_ = "A";
  (void)loop_.Fail(Status(StatusCode::kFenced, "the run lost its thread"));
  EXPECT_DEATH((void)loop_.Step(), "a run that lost its lease executes no node");
}

TEST_F(RunLoopDeathTest, ARunThatLostItsLeaseHasFailed) {
  (void)loop_.Fail(Status(StatusCode::kFenced, "the run lost its thread"));
  EXPECT_DEATH((void)loop_.Record({}, /*keeps_window=*/false),
               "a run that lost its lease has failed");
}

TEST_F(RunLoopDeathTest, ARunPausesOnce) {
  loop_.paused_ = true;
  EXPECT_DEATH((void)loop_.Pause(ExecutionMeta::Phase::kInterruptedBefore, "twice"),
               "a run pauses once");
}

TEST_F(RunLoopDeathTest, ARunThatFailedHasAReason) {
  EXPECT_DEATH((void)loop_.Fail(Status::Ok()), "a run that failed has a reason");
}

}  // namespace
}  // namespace agent_graph::run
