// An accepted run that has resumed a paused thread and ends between two attempts, or in an attempt
// that appends nothing: the thread must not stay paused, or its next run would execute the resumed
// node again.
#include <gmock/gmock.h>

#include "accepted_runs_fixture.h"
#include "agent_graph/json.h"

namespace agent_graph::state {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kPausedBeforePay[] =
    R"({"current_node":"PAY","step":2,"status":"interrupted_before","resume_node":"PAY"})";

class ResumedRunTest : public AcceptedRunsTest {
 protected:
  // A run pauses the thread until the client answers the call "c1". The run "r" resumes it and is
  // granted to the worker.
  void Resume() {
    const BeginRunRequest pausing = RunOn("t");
    const Result<BeginRunReply> begun = service().BeginRun(pausing, nullptr);
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    FinishRunRequest finish = FinishOf(pausing, *begun, {UserMessage("asked")});
    finish.status = "interrupted";
    finish.snapshot.execution_json = kPausedBeforePay;
    finish.open_calls = {{"c1", true, {"asked"}}};
    ASSERT_TRUE(service().FinishRun(finish).ok());
    worker_ = Connect(grants_.Receiver());
    Accept(RequestOn("t", "r"));
    run_ = grants_.Next();
  }
  // The run arrives at PAY and changes a field.
  void Act() {
    const LogEntry change = {
        "state_update", "{}", 0,
        StateEffect{.fields = {{.name = "paid", .value_json = "1", .position = 1}}}};
    AppendRunRequest append =
        Append(run_, Begin(*worker_, run_), {{"run_started", "{}", 0}, change});
    append.first_entry = 0;
    append.current_node = "PAY";
    append.step = 3;
    ASSERT_TRUE(worker_->AppendRun(append).ok());
  }
  // The attempt ends; no worker takes the next one yet.
  void GiveBack() {
    worker_->RefuseGrants();
    ASSERT_TRUE(worker_->HandOverRun("t", "r", 0).ok());
  }
  void GrantAgain() {
    worker_ = Connect(grants_.Receiver());
    run_ = grants_.Next();
    EXPECT_EQ(run_.attempt, 2u);
  }
  void Stop() {
    const Result<StopReply> stopped = service().RequestStop({Scope::All(), "t", false, "r"});
    ASSERT_TRUE(stopped.ok() && stopped->running);
  }
  // An attempt that could not read the state.
  void FinishUnread(std::vector<LogEntry> entries = {{"run_finished", "{}", 0}}) {
    const BeginRunReply begun = Begin(*worker_, run_);
    FinishRunRequest finish;
    finish.append = Append(run_, begun, std::move(entries));
    finish.append.current_node = "PAY";
    finish.append.step = 3;
    finish.status = "error";
    finish.reason = "forbidden";
    finish.state_unread = true;
    ASSERT_TRUE(worker_->FinishRun(finish).ok());
  }
  StatusCode Waiting() {
    return service().FindWaitingThread({Scope::All(), {"c1"}}).status().code();
  }
  void ExpectNotPaused(const std::string& execution_json) {
    const ThreadState state = StateOf("t");
    EXPECT_EQ(state.snapshot.execution_json, execution_json);
    EXPECT_EQ(state.snapshot.fields_json, R"({"paid":1})");
    EXPECT_EQ(Waiting(), StatusCode::kNotFound);
  }
  void ExpectPaused() {
    EXPECT_EQ(StateOf("t").snapshot.execution_json, kPausedBeforePay);
    EXPECT_EQ(Waiting(), StatusCode::kOk);
  }
  // The request of the run is stored.
  void ExpectPausedWithRequest() {
    json execution = json::parse(kPausedBeforePay);
    execution["unexecuted_resume"] = true;
    EXPECT_EQ(json::parse(StateOf("t").snapshot.execution_json), execution);
    EXPECT_EQ(Waiting(), StatusCode::kOk);
  }
  void AppendAtPay(std::vector<LogEntry> entries) {
    AppendRunRequest append = Append(run_, Begin(*worker_, run_), std::move(entries));
    append.first_entry = 0;
    append.current_node = "PAY";
    append.step = 2;
    ASSERT_TRUE(worker_->AppendRun(append).ok());
  }
  // The run stores its request and leaves its worker before PAY.
  void Leave() {
    AppendAtPay({{"run_started", "{}", 0}, {"message", "{}", 0}, {"attempt_left", "{}", 0}});
    GiveBack();
  }

  const std::string stopped_ =
      R"({"current_node":"PAY","step":3,"status":"completed","stopped":true})";
  Grants grants_;
  Client* worker_ = nullptr;
  GrantedRun run_;
};

TEST_P(ResumedRunTest, IsStoppedWhileItWaitsForTheNextWorker) {
  Resume();
  Act();
  GiveBack();
  Stop();
  EXPECT_EQ(Run("t", "r").state, RunState::kStopped);
  ExpectNotPaused(stopped_);
}

TEST_P(ResumedRunTest, IsStoppedByTheNextRunMeanwhile) {
  Resume();
  Act();
  GiveBack();
  BeginRunRequest next = RunOn("t");
  next.interrupt_if_busy = true;
  const Result<BeginRunReply> begun = service().BeginRun(next, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_THAT(begun->state.snapshot.execution_json, Not(HasSubstr("interrupted")));
  EXPECT_EQ(Run("t", "r").state, RunState::kStopped);
}

TEST_P(ResumedRunTest, IsStoppedInAnAttemptThatDoesNothing) {
  Resume();
  Act();
  GiveBack();
  GrantAgain();
  Begin(*worker_, run_);
  Stop();
  GiveBack();
  EXPECT_EQ(Run("t", "r").state, RunState::kStopped);
  ExpectNotPaused(stopped_);
}

TEST_P(ResumedRunTest, EndsInAnAttemptThatCannotReadTheState) {
  Resume();
  Act();
  GiveBack();
  GrantAgain();
  FinishUnread();
  EXPECT_EQ(Run("t", "r").reason, "forbidden");
  ExpectNotPaused(R"({"current_node":"PAY","step":3,"status":"error","reason":"forbidden"})");
}

TEST_P(ResumedRunTest, LeavesThePauseWhenItHasDoneNothing) {
  Resume();
  GiveBack();
  Stop();
  EXPECT_EQ(Run("t", "r").state, RunState::kStopped);
  ExpectPaused();
}

TEST_P(ResumedRunTest, LeavesThePauseWhenItsFirstAttemptCannotReadTheState) {
  Resume();
  FinishUnread();
  EXPECT_EQ(Run("t", "r").reason, "forbidden");
  ExpectPaused();
}

TEST_P(ResumedRunTest, LeavesThePauseWhenItHasLeftBeforeItsFirstNode) {
  Resume();
  Leave();
  Stop();
  EXPECT_EQ(Run("t", "r").state, RunState::kStopped);
  ExpectPausedWithRequest();
}

TEST_P(ResumedRunTest, LeavesThePauseWhenASecondWorkerHasGivenItBackToo) {
  Resume();
  Leave();
  GrantAgain();
  AppendAtPay({{"attempt_started", "{}", 0}, {"attempt_left", "{}", 0}});
  GiveBack();
  Stop();
  ExpectPausedWithRequest();
}

TEST_P(ResumedRunTest, LeavesThePauseWhenTheNextWorkerRefusesIt) {
  Resume();
  Leave();
  GrantAgain();
  FinishUnread({{"attempt_started", "{}", 0}, {"error", "{}", 0}, {"run_finished", "{}", 0}});
  EXPECT_EQ(Run("t", "r").reason, "forbidden");
  ExpectPausedWithRequest();
}

TEST_P(ResumedRunTest, EndsThePauseIfAnAttemptHasBegunThere) {
  Resume();
  Leave();
  GrantAgain();
  AppendAtPay({{"attempt_started", "{}", 0}});
  GiveBack();
  Stop();
  EXPECT_EQ(json::parse(StateOf("t").snapshot.execution_json).at("status"), "completed");
  EXPECT_EQ(Waiting(), StatusCode::kNotFound);
}

TEST_P(ResumedRunTest, EndsThePauseIfANodeWasExecuted) {
  Resume();
  AppendAtPay({{"run_started", "{}", 0}, {"node_started", "{}", 0}, {"attempt_left", "{}", 0}});
  GiveBack();
  Stop();
  EXPECT_EQ(json::parse(StateOf("t").snapshot.execution_json).at("status"), "completed");
  EXPECT_EQ(Waiting(), StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Backends, ResumedRunTest, testing::ValuesIn(AllSetups()), SetupName);

}  // namespace
}  // namespace agent_graph::state
