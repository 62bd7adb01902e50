// Granted runs that wait in their worker until others have ended.
#include <future>
#include <string>
#include <vector>

#include "run_host_fixture.h"

namespace agent_graph::run {
namespace {

using WaitingRunsTest = RunHostTest;

TEST_F(WaitingRunsTest, RunsBeyondTheLimitWait) {
  AddOneNode(Say("ok"));
  host_options_.runs_max = 1;
  MakeHost();
  for (const char* thread_id : {"t1", "t2", "t3"}) host_->Execute(Granted(thread_id));
  Finish();
  for (const char* thread_id : {"t1", "t2", "t3"}) {
    EXPECT_EQ(state_.At(thread_id).last_status, "done");
  }
}

TEST_F(WaitingRunsTest, ALostRunGoesBeforeThoseThatHaveNotBegun) {
  std::vector<std::string> order;
  std::promise<void> begins;
  std::promise<void> goes_on;
  AddOneNode([&, go = goes_on.get_future().share()](const State&, RunContext& context) {
    if (order.empty()) begins.set_value();
    order.push_back(context.thread_id());
    go.wait();
    return NodeResult{};
  });
  host_options_.runs_max = 1;
  MakeHost();
  host_->Execute(Granted("holder"));
  begins.get_future().wait();
  for (const char* thread_id : {"new1", "new2"}) host_->Execute(Granted(thread_id));
  for (const char* thread_id : {"lost1", "lost2"}) host_->Execute(Granted(thread_id, 2, "A"));
  goes_on.set_value();
  Finish();
  EXPECT_EQ(order, (std::vector<std::string>{"holder", "lost1", "lost2", "new1", "new2"}));
}

TEST_F(WaitingRunsTest, RunsThatWaitAreGivenBackUnbegun) {
  builder_.AddAgent("MAIN", {.system_prompt = "Be kind."});
  builder_.AddEdge(START, "MAIN");
  builder_.AddEdge("MAIN", END);
  std::promise<void> waits;
  model_.on_wait = [&] { waits.set_value(); };
  model_.script = {{.pieces = {"Hi"}, .wait_for_cancel = true}};
  host_options_.runs_max = 1;
  MakeHost();
  EXPECT_CALL(state_, HandOverRun("t1", "r1", testing::_));
  EXPECT_CALL(state_, HandOverRun("t2", "r1", testing::_));
  host_->Execute(Granted("t1"));
  host_->Execute(Granted("t2"));
  waits.get_future().wait();
  const std::shared_ptr<LiveRun> waiting = host_->local().Find("t2", "r1");
  ASSERT_NE(waiting, nullptr);
  EXPECT_EQ(waiting->Read("", 0, 0).lease_epoch, 0u);
  host_->HandOverNow();
  Finish();
  EXPECT_FALSE(state_.Kinds("t1").empty());
  EXPECT_TRUE(state_.Kinds("t2").empty());
}

TEST_F(WaitingRunsTest, ARunThatIsCancelledDoesNotWait) {
  std::promise<void> begins;
  std::promise<void> goes_on;
  AddOneNode([&, go = goes_on.get_future().share()](const State&, RunContext&) {
    begins.set_value();
    go.wait();
    return NodeResult{};
  });
  host_options_.runs_max = 1;
  MakeHost();
  host_->Execute(Granted("t1"));
  begins.get_future().wait();
  for (const char* thread_id : {"t2", "t3"}) host_->Execute(Granted(thread_id));
  std::promise<void> given_back;
  EXPECT_CALL(state_, HandOverRun("t3", "r1", testing::_)).WillOnce([&](auto&&...) {
    given_back.set_value();
    return Status::Ok();
  });
  EXPECT_CALL(state_, HandOverRun("t2", "r1", testing::_));
  host_->Cancel("t3", "r1");
  given_back.get_future().wait();
  host_->Cancel("t2", "r1");
  host_->Cancel("unknown", "r1");
  goes_on.set_value();
  Finish();
  EXPECT_EQ(state_.At("t1").last_status, "done");
  EXPECT_TRUE(state_.Kinds("t3").empty());
}

// The state ends it then.
TEST_F(WaitingRunsTest, ARunIsGivenBackAtItsDeadline) {
  std::promise<void> begins;
  std::promise<void> goes_on;
  AddOneNode([&, go = goes_on.get_future().share()](const State&, RunContext& context) {
    if (context.thread_id() == "t1") begins.set_value();
    go.wait();
    return NodeResult{};
  });
  host_options_.runs_max = 1;
  MakeHost();
  host_->Execute(Granted("t1"));
  begins.get_future().wait();
  const auto until = [](const std::string& thread_id, std::chrono::milliseconds left) {
    state::GrantedRun granted = Granted(thread_id);
    granted.deadline_micros =
        UnixMicros() + std::chrono::duration_cast<std::chrono::microseconds>(left).count();
    return granted;
  };
  std::promise<void> given_back;
  EXPECT_CALL(state_, HandOverRun("t3", "r1", testing::_)).WillOnce([&](auto&&...) {
    given_back.set_value();
    return Status::Ok();
  });
  host_->Execute(until("t2", std::chrono::hours(1)));
  host_->Execute(until("t3", std::chrono::milliseconds(50)));
  given_back.get_future().wait();
  goes_on.set_value();
  Finish();
  EXPECT_EQ(state_.At("t2").last_status, "done");
  EXPECT_TRUE(state_.Kinds("t3").empty());
}

TEST_F(WaitingRunsTest, LargeRequestsDoNotWait) {
  AddOneNode(Say("ok"));
  host_options_.runs_max = 0;
  MakeHost();
  state::GrantedRun large = Granted("t1");
  large.request.resize(65 * 1024 * 1024);
  EXPECT_CALL(state_, HandOverRun("t1", "r1", testing::_));
  host_->Execute(std::move(large));
  Finish();
}

}  // namespace
}  // namespace agent_graph::run
