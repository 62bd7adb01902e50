#include "run/host/run_host.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>

#include "run_host_fixture.h"
#include "runtime/yield.h"

namespace agent_graph::run {
namespace {

TEST_F(RunHostTest, ExecutesAGrantedRun) {
  AddOneNode(Say("ok"));
  MakeHost();
  host_->Execute(Granted("t1"));
  Finish();
  EXPECT_EQ(ended_, std::vector{RunStatus::kDone});
  EXPECT_EQ(state_.At("t1").last_status, "done");
  EXPECT_EQ(state_.At("t1").state.window.size(), 2u);
  EXPECT_EQ(finished_.append.run_id, "r1");
}

// Another worker may continue it.
TEST_F(RunHostTest, ARunWhoseEndIsNotStoredHasNotEndedHere) {
  state_.before_finish = [](const state::FinishRunRequest&) {
    return Status(StatusCode::kUnavailable, "no answer");
  };
  AddOneNode(Say("ok"));
  MakeHost();
  host_->Execute(Granted("t1"));
  host_->Execute([] {
    state::GrantedRun damaged = Granted("t2");
    damaged.request = "{";
    return damaged;
  }());
  Finish();
  EXPECT_TRUE(ended_.empty());
  state_.At("t1").leased = false;  // the client of the state would release it
}

TEST_F(RunHostTest, RunsOfTwoThreadsMayHaveTheSameId) {
  AddOneNode(Say("ok"));
  MakeHost();
  host_->Execute(Granted("t1"));
  host_->Execute(Granted("t2"));
  Finish();
  EXPECT_EQ(state_.At("t1").last_status, "done");
  EXPECT_EQ(state_.At("t2").last_status, "done");
}

TEST_F(RunHostTest, FollowersSeeTheMessageInProgress) {
  builder_.AddAgent("MAIN", {.system_prompt = "Be kind."});
  builder_.AddEdge(START, "MAIN");
  builder_.AddEdge("MAIN", END);
  std::promise<void> waits;
  model_.on_wait = [&] { waits.set_value(); };
  model_.script = {{.pieces = {"Hel", "lo"}, .wait_for_cancel = true}};
  MakeHost();
  host_->Execute(Granted("t1"));
  waits.get_future().wait();
  EXPECT_EQ(host_->local().Find("t2", "r1"), nullptr);
  EXPECT_EQ(host_->local().Find("t1", "r2"), nullptr);
  const std::shared_ptr<LiveRun> live = host_->local().Find("t1", "r1");
  ASSERT_NE(live, nullptr);
  const LiveRun::View view = live->Read("", 0, 0);
  ASSERT_TRUE(view.partial);
  EXPECT_EQ(view.partial->text, "Hello");
  EXPECT_EQ(view.lease_epoch, 1u);
  host_->HandOverNow();
  Finish();
  EXPECT_TRUE(live->Read("", 0, 0).ended);
  EXPECT_EQ(state_.At("t1").last_status, "handed_over");
}

TEST_F(RunHostTest, ARunThatItsUserMayNoLongerExecuteEnds) {
  std::atomic<int> executed = 0;
  AddOneNode([&](const State&, RunContext&) -> NodeResult {
    ++executed;
    return Message::Assistant("ok");
  });
  host_options_.authorize = [](const RunRequest& request, const auto&) {
    EXPECT_EQ(request.thread_id, "t1");
    return Status(StatusCode::kPermissionDenied, "Not authorized to invoke graph");
  };
  MakeHost();
  host_->Execute(Granted("t1", 2, "A"));
  Finish();
  EXPECT_EQ(executed, 0);
  EXPECT_EQ(finished_.status, "error");
  EXPECT_EQ(finished_.reason, "forbidden");
  EXPECT_EQ(ended_, std::vector{RunStatus::kError});
}

TEST_F(RunHostTest, ARequestThatCannotBeAuthorizedBecauseItIsDamagedEnds) {
  AddOneNode(Say("ok"));
  host_options_.authorize = [](const RunRequest&, const auto&) {
    return Status(StatusCode::kDataLoss, "the stored request of the run cannot be read: action");
  };
  MakeHost();
  host_->Execute(Granted("t1"));
  Finish();
  EXPECT_EQ(finished_.status, "error");
  EXPECT_EQ(finished_.reason, "DATA_LOSS");
}

TEST_F(RunHostTest, FollowersGoOneAfterTheOtherWhenItLeaves) {
  AddOneNode(Say("ok"));
  MakeHost();
  EXPECT_EQ(host_->LeaveTime(0.5), kNoDeadline);
  const auto before = MonotonicClock::now();
  host_->Leave(std::chrono::seconds(100));
  host_->HandOver();
  EXPECT_GE(host_->LeaveTime(0), before);
  EXPECT_EQ(host_->LeaveTime(0.5) - host_->LeaveTime(0), std::chrono::seconds(50));
  EXPECT_EQ(host_->LeaveTime(1) - host_->LeaveTime(0), std::chrono::seconds(100));
  Finish();
}

TEST_F(RunHostTest, ARunIsGivenBackIfNothingCanBeDecidedNow) {
  AddOneNode(Say("ok"));
  host_options_.authorize = [](const RunRequest&, const auto&) { return Unavailable("no answer"); };
  // Expected here, because the fake has a lease only of runs that have begun.
  EXPECT_CALL(state_, HandOverRun("t1", testing::_, testing::_));
  MakeHost();
  host_->Execute(Granted("t1"));
  Finish();
}

TEST_F(RunHostTest, GivesBackRunsThatAreGrantedWhileItLeaves) {
  AddOneNode(Say("ok"));
  MakeHost();
  host_->HandOver();
  EXPECT_CALL(state_, HandOverRun("t1", "r1", testing::_));
  host_->Execute(Granted("t1"));
  Finish();
  EXPECT_TRUE(state_.Kinds("t1").empty());
}

TEST_F(RunHostTest, GivesBackARunThatCannotBegin) {
  AddOneNode(Say("ok"));
  state_.before_begin = [](const state::BeginRunRequest&) {
    return Status(StatusCode::kUnavailable, "no answer");
  };
  MakeHost();
  EXPECT_CALL(state_, HandOverRun("t1", "r1", testing::_));
  host_->Execute(Granted("t1"));
  Finish();
}

TEST_F(RunHostTest, ARunLeavesAtItsNextNode) {
  builder_.AddFunction("A", [this](const State&, RunContext&) -> NodeResult {
    host_->HandOver();
    return Message::Assistant("first");
  });
  builder_.AddFunction("B", Say("second"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", "B");
  builder_.AddEdge("B", END);
  MakeHost();
  host_->Execute(Granted("t1"));
  Finish();
  EXPECT_EQ(state_.At("t1").last_status, "handed_over");
  EXPECT_EQ(state_.At("t1").places.back(), "B");
  EXPECT_TRUE(ended_.empty());
}

TEST_F(RunHostTest, ARunThatHasLostItsLeaseIsNotGivenBack) {
  builder_.AddFunction("A", [this](const State&, RunContext&) -> NodeResult {
    host_->HandOver();
    state_.before_append = [](const state::AppendRunRequest&) {
      return Status(StatusCode::kFenced, "another attempt has the lease");
    };
    return Message::Assistant("first");
  });
  builder_.AddFunction("B", Say("second"));
  builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", END);
  MakeHost();
  EXPECT_CALL(state_, HandOverRun).Times(0);
  host_->Execute(Granted("t1"));
  Finish();
  state_.At("t1").leased = false;
}

TEST_F(RunHostTest, ContinuesAnAttemptAtItsNode) {
  AddOneNode(Say("ok"));
  MakeHost();
  host_->Execute(Granted("t1", 2, "A"));
  Finish();
  EXPECT_EQ(state_.At("t1").last_status, "done");
  EXPECT_EQ(state_.Kinds("t1").front(), "attempt_started");
}

TEST_F(RunHostTest, ARunWhoseDeadlineHasPassedEnds) {
  AddOneNode(Say("ok"));
  MakeHost();
  state::GrantedRun granted = Granted("t1");
  granted.deadline_micros = 1;
  host_->Execute(granted);
  Finish();
  EXPECT_EQ(state_.At("t1").last_status, "error");
  EXPECT_EQ(finished_.reason, "deadline");
}

TEST_F(RunHostTest, ADamagedRequestEndsTheRun) {
  AddOneNode(Say("ok"));
  MakeHost();
  state::GrantedRun granted = Granted("t1");
  granted.request = "{";
  host_->Execute(granted);
  Finish();
  EXPECT_EQ(state_.At("t1").last_status, "error");
  EXPECT_EQ(finished_.reason, "DATA_LOSS");
}

// Another worker could not read it, either.
TEST_F(RunHostTest, ADamagedThreadEndsTheRun) {
  AddOneNode(Say("ok"));
  state_.before_begin = [](const state::BeginRunRequest&) {
    return Status(StatusCode::kDataLoss, "the state is damaged");
  };
  EXPECT_CALL(state_, FinishRun).WillRepeatedly([this](const state::FinishRunRequest& finish) {
    finished_ = finish;
    return Status::Ok();
  });
  MakeHost();
  state::GrantedRun granted = Granted("t1");
  granted.lease_epoch = 7;
  host_->Execute(granted);
  granted = Granted("t2");
  granted.request = "{";
  host_->Execute(granted);
  Finish();
  EXPECT_EQ(finished_.reason, "DATA_LOSS");
  EXPECT_EQ(finished_.status, "error");
  EXPECT_TRUE(finished_.state_unread);
}

TEST_F(RunHostTest, ARequestThatDoesNotFitGoesToAnotherWorker) {
  AddOneNode(Say("ok"));
  int waits = 0;
  host_options_.await_bytes = [&](uint64_t, uint64_t, const runtime::Cancellation&, Deadline) {
    ++waits;
    return Status(StatusCode::kDeadlineExceeded, "no room");
  };
  EXPECT_CALL(state_, HandOverRun("t1", testing::_, testing::_));
  MakeHost();
  host_->Execute(Granted("t1"));
  Finish();
  EXPECT_EQ(waits, 1) << "the run has not begun";
}

TEST_F(RunHostTest, ARunWaitsForMemoryUntilItsDeadline) {
  AddOneNode(Say("ok"));
  constexpr std::chrono::seconds kLeft(10);
  GiveMemoryOnce();
  // The state ends it. See the next test.
  EXPECT_CALL(state_, HandOverRun("t1", testing::_, testing::_)).Times(2);
  MakeHost();
  state_.omitted_bytes = 1'000'000;
  state::GrantedRun granted = Granted("t1");
  granted.deadline_micros =
      UnixMicros() + std::chrono::duration_cast<std::chrono::microseconds>(kLeft).count();
  const Deadline latest = DeadlineAfter(kLeft);
  host_->Execute(std::move(granted));
  Finish();
  EXPECT_THAT(memory_waits_, testing::ElementsAre(testing::Le(latest), testing::Le(latest)));
  EXPECT_TRUE(state_.Kinds("t1").empty());
}

TEST_F(RunHostTest, AThreadThatDoesNotFitGoesToAnotherWorker) {
  AddOneNode(Say("ok"));
  GiveMemoryOnce();
  // Expected here, because the fake has a lease only of runs that have begun. The runner gives the
  // run back, and the host does so again, because it does not know that.
  EXPECT_CALL(state_, HandOverRun("t1", testing::_, testing::_)).Times(2);
  MakeHost();
  state_.omitted_bytes = 1'000'000;
  host_->Execute(Granted("t1"));
  Finish();
}

TEST_F(RunHostTest, LostRunsAreLoadedAFewAtATime) {
  AddOneNode(Say("ok"));
  host_options_.starts_max = 2;
  std::atomic<int> loading = 0;
  std::atomic<int> most = 0;
  ON_CALL(state_, GetState)
      .WillByDefault([&](const state::Scope&, const std::string&) -> Result<state::ThreadState> {
        most = std::max<int>(most, ++loading);
        runtime::Yield();
        --loading;
        return state::ThreadState();
      });
  MakeHost();
  state_.omitted_bytes = 1'000'000;
  constexpr int kRuns = 10;
  for (int i = 0; i < kRuns; ++i) host_->Execute(Granted("t" + std::to_string(i), 2, "A"));
  Finish();
  for (int i = 0; i < kRuns; ++i) {
    EXPECT_EQ(state_.At("t" + std::to_string(i)).last_status, "done");
  }
  EXPECT_LE(most, 2);
}

}  // namespace
}  // namespace agent_graph::run
