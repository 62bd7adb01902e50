// Runs that wait for a thread at two hosts.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../fixture.h"
#include "base/mutex.h"
#include "hosts_fixture.h"

namespace agent_graph::state {
namespace {

class QueueOfHostsTest : public HostsTest {
 protected:
  ~QueueOfHostsTest() override {
    for (std::thread& thread : threads_) thread.join();
  }

  // The run waits, and ends as soon as it has begun. Returns when it is in the queue.
  void Queue(Client& client, const std::string& run_id) {
    const BeginRunRequest run = RunOn("t", "", run_id);
    const size_t before = Queued().size();
    threads_.emplace_back([this, &client, run] {
      const Result<BeginRunReply> begun = client.BeginRun(run, nullptr);
      if (!begun.ok()) return;
      {
        MutexLock lock(mutex_);
        order_.push_back(run.run_id);
      }
      EXPECT_TRUE(client.FinishRun(FinishOf(run, *begun)).ok());
    });
    while (Queued().size() == before) std::this_thread::yield();
  }
  std::vector<std::string> Queued() {
    const Result<ThreadState> state = on_a_.GetState(Scope::All(), "t");
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return state.ok() && state->in_flight ? state->in_flight->queued_runs
                                          : std::vector<std::string>();
  }
  // The runs that have begun, in this order, once they have ended.
  std::vector<std::string> Order() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    MutexLock lock(mutex_);
    return order_;
  }

 private:
  std::vector<std::thread> threads_;
  Mutex mutex_;
  std::vector<std::string> order_ AG_GUARDED_BY(mutex_);
};

TEST_F(QueueOfHostsTest, RunsBeginInTheOrderInWhichTheyCame) {
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunReply begun = Begin(on_a_, first);
  Queue(on_b_, "b1");
  Queue(on_a_, "a1");
  Queue(on_b_, "b2");
  Queue(on_b_, "b3");
  Queue(on_a_, "a2");
  EXPECT_EQ(Queued(), (std::vector<std::string>{"b1", "a1", "b2", "b3", "a2"}));
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, begun)).ok());
  EXPECT_EQ(Order(), (std::vector<std::string>{"b1", "a1", "b2", "b3", "a2"}));
  const Result<VerifyReport> report = on_a_.Verify();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->problem_count, 0u) << testing::PrintToString(report->problems);
}

TEST_F(QueueOfHostsTest, ARunIsCreatedWhenItsClientAsksForIt) {
  const auto created = [this](const std::string& run_id) {
    const Result<RunRecord> run = on_a_.GetRun({Scope::All(), "t", run_id});
    EXPECT_TRUE(run.ok()) << run.status().ToString();
    return run.ok() ? run->created_micros : 0;
  };
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunReply begun = Begin(on_a_, first);
  Queue(on_a_, "a1");
  Queue(on_b_, "b1");
  const int64_t a1 = created("a1");
  const int64_t b1 = created("b1");
  EXPECT_NE(a1, created("first"));
  EXPECT_NE(b1, created("first"));
  EXPECT_NE(a1, b1);
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, begun)).ok());
  EXPECT_EQ(Order(), (std::vector<std::string>{"a1", "b1"}));
  EXPECT_EQ(created("a1"), a1);
  EXPECT_EQ(created("b1"), b1);
}

TEST_F(QueueOfHostsTest, TheBoundCountsTheRunsOfAllHosts) {
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunReply begun = Begin(on_a_, first);
  Queue(on_b_, "b1");
  BeginRunRequest second = RunOn("t", "", "second");
  second.queue_max = 1;
  EXPECT_EQ(on_a_.BeginRun(second, nullptr).status().code(), StatusCode::kBusy);
  EXPECT_EQ(on_b_.BeginRun(second, nullptr).status().code(), StatusCode::kBusy);
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, begun)).ok());
  EXPECT_EQ(Order(), std::vector<std::string>{"b1"});
}

TEST_F(QueueOfHostsTest, ARunThatWaitsNoMoreLeavesTheQueue) {
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunReply begun = Begin(on_a_, first);
  Client& leaving = b_.Connect();
  Queue(leaving, "b1");
  Queue(on_a_, "a1");
  leaving.Stop();
  while (Queued().size() > 1) std::this_thread::yield();
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, begun)).ok());
  EXPECT_EQ(Order(), std::vector<std::string>{"a1"});
}

TEST_F(QueueOfHostsTest, TheTurnOfADeadHostIsPassedOn) {
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunReply begun = Begin(on_a_, first);
  std::thread lost([this] { EXPECT_FALSE(on_b_.BeginRun(RunOn("t", "", "b1"), nullptr).ok()); });
  while (Queued().empty()) std::this_thread::yield();
  Queue(on_a_, "a1");
  b_.Kill();
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, begun)).ok());
  EXPECT_EQ(Order(), std::vector<std::string>{"a1"});
  b_.StopClients();
  lost.join();
}

}  // namespace
}  // namespace agent_graph::state
