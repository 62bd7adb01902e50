// A run that begins on a thread with a run in flight, and asks to interrupt it.
#include <string>
#include <thread>

#include "conformance.h"
#include "grants.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

class BusyThreadTest : public ConformanceTest {
 protected:
  static BeginRunRequest Interrupting(const std::string& run_id) {
    BeginRunRequest run = RunOn("t", "", run_id);
    run.interrupt_if_busy = true;
    return run;
  }
  void Accept(const BeginRunRequest& run) {
    AcceptRunRequest accept;
    accept.begin = run;
    accept.request = "request of " + run.run_id;
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    const Result<AcceptRunReply> reply = service().AcceptRun(accept);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ(reply->outcome, AcceptRunReply::Outcome::kAccepted);
  }
  RunState StateOfRun(const std::string& run_id) {
    const Result<RunRecord> run = service().GetRun({Scope::All(), "t", run_id});
    EXPECT_TRUE(run.ok()) << run.status().ToString();
    return run.ok() ? run->state : RunState::kQueued;
  }
  // Executes the next granted run, which must be this one.
  void ExpectNext(Grants& grants, Client& worker, const std::string& run_id) {
    const GrantedRun granted = grants.Next();
    EXPECT_EQ(granted.run_id, run_id);
    const BeginRunRequest run = RunOn("t", "", granted.run_id);
    const Result<BeginRunReply> begun = worker.BeginRun(run, nullptr);
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    EXPECT_TRUE(worker.FinishRun(FinishOf(run, *begun)).ok());
  }
};

TEST_P(BusyThreadTest, TheRunInFlightIsCancelledAndKeepsWhatItDid) {
  runtime::Cancellation cancellation;
  runtime::Signal cancelled;
  const auto registration = cancellation.OnCancel([&] { cancelled.Notify(); });
  const BeginRunRequest first = RunOn("t", "", "first");
  const Result<BeginRunReply> begun = service().BeginRun(first, &cancellation);
  ASSERT_TRUE(begun.ok());
  Client* other = Connect();
  std::thread waiting([&] {
    const BeginRunRequest second = Interrupting("second");
    const Result<BeginRunReply> granted = other->BeginRun(second, nullptr);
    ASSERT_TRUE(granted.ok()) << granted.status().ToString();
    EXPECT_EQ(Ids(granted->state.window), std::vector<std::string>{"m1"});
    EXPECT_FALSE(other->AppendRun(AppendOf(second, *granted))->stop_requested);
    EXPECT_TRUE(other->FinishRun(FinishOf(second, *granted)).ok());
  });
  EXPECT_EQ(cancelled.Wait(nullptr, DeadlineAfter(kPatience)), runtime::WakeReason::kNotified);
  EXPECT_EQ(cancellation.reason(), runtime::CancelReason::kStopped);
  FinishRunRequest finish = FinishOf(first, *begun, {UserMessage("m1")});
  finish.status = "stopped";
  EXPECT_TRUE(service().FinishRun(finish).ok());
  waiting.join();
}

TEST_P(BusyThreadTest, ARunWaitsUntilItsDeadline) {
  ASSERT_TRUE(service().BeginRun(RunOn("t", "", "first"), nullptr).ok());
  runtime::Cancellation cancellation;
  std::thread waiting([&] {
    const Status refused = service().BeginRun(RunOn("t", "", "second"), &cancellation).status();
    EXPECT_EQ(refused.code(), StatusCode::kDeadlineExceeded) << refused.ToString();
  });
  while (StateOf("t").in_flight->queued_runs.empty()) std::this_thread::yield();
  cancellation.Cancel(runtime::CancelReason::kDeadline);
  waiting.join();
  // A call that has no time to be answered, which it may be at once, says nothing about the server.
  const Status late = service().BeginRun(RunOn("u"), &cancellation).status();
  EXPECT_TRUE(late.ok() || late.code() == StatusCode::kDeadlineExceeded) << late.ToString();
  EXPECT_TRUE(service().GetThread(Scope::All(), "t").ok());
}

TEST_P(BusyThreadTest, TheRunOfADeletedThreadIsCancelled) {
  runtime::Cancellation cancellation;
  runtime::Signal cancelled;
  const auto registration = cancellation.OnCancel([&] { cancelled.Notify(); });
  const BeginRunRequest run = RunOn("t");
  const Result<BeginRunReply> begun = service().BeginRun(run, &cancellation);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(Connect()->DeleteThread(Scope::All(), "t").ok());
  EXPECT_EQ(cancelled.Wait(nullptr, DeadlineAfter(kPatience)), runtime::WakeReason::kNotified);
  EXPECT_EQ(service().FinishRun(FinishOf(run, *begun)).code(), StatusCode::kFenced);
}

TEST_P(BusyThreadTest, AnInterruptGoesBeforeTheRunsThatWait) {
  Accept(RunOn("t", "", "first"));
  Accept(RunOn("t", "", "waits"));
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  const GrantedRun granted = grants.Next();
  EXPECT_EQ(granted.run_id, "first");
  const BeginRunRequest first = RunOn("t", "", "first");
  const Result<BeginRunReply> begun = worker->BeginRun(first, nullptr);
  ASSERT_TRUE(begun.ok());
  Accept(Interrupting("urgent"));
  EXPECT_TRUE(worker->AppendRun(AppendOf(first, *begun))->stop_requested);
  ASSERT_TRUE(worker->FinishRun(FinishOf(first, *begun)).ok());
  ExpectNext(grants, *worker, "urgent");
  ExpectNext(grants, *worker, "waits");
}

TEST_P(BusyThreadTest, ARunThatNoWorkerHasTakenIsStoppedAtOnce) {
  Accept(RunOn("t", "", "first"));
  Accept(RunOn("t", "", "waits"));
  Accept(Interrupting("urgent"));
  EXPECT_EQ(StateOfRun("first"), RunState::kStopped);
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  ExpectNext(grants, *worker, "urgent");
  ExpectNext(grants, *worker, "waits");
}

TEST_P(BusyThreadTest, AnInterruptHasNoEffectOnAnIdleThreadOrAForeignOne) {
  const BeginRunRequest theirs = RunOn("t", "ada", "first");
  const Result<BeginRunReply> begun = service().BeginRun(theirs, nullptr);
  ASSERT_TRUE(begun.ok());
  BeginRunRequest foreign = RunOn("t", "bob", "foreign");
  foreign.interrupt_if_busy = true;
  EXPECT_EQ(service().BeginRun(foreign, nullptr).status().code(), StatusCode::kPermissionDenied);
  BeginRunRequest crowded = Interrupting("crowded");
  crowded.queue_max = 0;
  EXPECT_EQ(service().BeginRun(crowded, nullptr).status().code(), StatusCode::kBusy);
  EXPECT_FALSE(service().AppendRun(AppendOf(theirs, *begun))->stop_requested);
  ASSERT_TRUE(service().FinishRun(FinishOf(theirs, *begun)).ok());
  const BeginRunRequest alone = Interrupting("alone");
  const Result<BeginRunReply> next = service().BeginRun(alone, nullptr);
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(service().AppendRun(AppendOf(alone, *next))->stop_requested);
}

INSTANTIATE_TEST_SUITE_P(Backends, BusyThreadTest, testing::ValuesIn(AllSetups()), SetupName);

class LastingQueueTest : public BusyThreadTest {};

TEST_P(LastingQueueTest, TheOrderOutlivesTheStateServer) {
  Accept(RunOn("t", "", "first"));
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  const GrantedRun granted = grants.Next();
  const BeginRunRequest first = RunOn("t", "", granted.run_id);
  const Result<BeginRunReply> begun = worker->BeginRun(first, nullptr);
  ASSERT_TRUE(begun.ok());
  Accept(RunOn("t", "", "waits"));
  Accept(Interrupting("urgent"));
  Restart();
  ASSERT_TRUE(worker->FinishRun(FinishOf(first, *begun)).ok());
  ExpectNext(grants, *worker, "urgent");
  ExpectNext(grants, *worker, "waits");
}

INSTANTIATE_TEST_SUITE_P(Backends, LastingQueueTest, testing::ValuesIn(LastingSetups()), SetupName);

}  // namespace
}  // namespace agent_graph::state
