// A host that takes over many accepted runs, which wait behind others.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "host_store.h"
#include "state/rows/keys.h"
#include "state/thread/run_read.h"
#include "state/thread/thread_read.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

constexpr int kAtOnce = 64;

class WaitingRunsTest : public postgres::DatabaseTest {
 protected:
  // The run of another host holds the thread, so that the accepted one waits at `a`.
  void Accept(const std::string& thread_id, const std::string& request = "request") {
    other_.Execute(Operation::kBeginRun, RunOn(thread_id, "", "holder"));
    AcceptRunRequest accept;
    accept.begin = RunOn(thread_id, "", "r");
    accept.request = request;
    EXPECT_TRUE(a_.Execute(Operation::kAcceptRun, accept).status.ok());
  }
  void DeclareDead(const HostStore& host) {
    Run({"UPDATE agent_graph.instance SET dead = true, ended = now() WHERE id = $1",
         {postgres::Value::Uuid(host.instance())}});
  }
  // The request of a living host, which neither a takeover nor the start of another host reads.
  void AddRequestThatCannotBeRead() {
    Run(
        {"INSERT INTO agent_graph.run_request (key, run_order, instance, value) VALUES ($1, 0, $2, "
         "'')",
         {postgres::Value::Bytes(keys::TablePrefix(keys::Table::kRunRequest)),
          postgres::Value::Uuid(other_.instance())}});
  }
  int64_t RunsOf(const HostStore& host) {
    return Run({"SELECT count(*) FROM agent_graph.run_request WHERE instance = $1",
                {postgres::Value::Uuid(host.instance())}})[0]
        .Bigint(0);
  }

  HostStore a_{Options()};
  HostStore b_{Options()};
  HostStore other_{Options()};
};

TEST_F(WaitingRunsTest, AreTakenInPortions) {
  constexpr int kRuns = 2 * kAtOnce + 10;
  for (int i = 0; i < kRuns; ++i) Accept(Numbered("t", i));
  // The requests of a thread that was deleted stay until they are swept.
  other_.Execute(Operation::kDeleteThread, ThreadRequest{Scope::All(), "t3"});
  AddRequestThatCannotBeRead();
  DeclareDead(a_);
  std::optional<uint64_t> first = 0;
  for (int batch = 1; first; ++batch) {
    ASSERT_LT(batch, 10);
    first = b_.TakeOver(a_.instance(), *first);
    b_.Commit();
    EXPECT_EQ(RunsOf(b_), std::min(batch * kAtOnce, kRuns) - 1);
  }
  EXPECT_EQ(RunsOf(b_), kRuns - 1);
  EXPECT_TRUE(b_.store().TakeReports().empty());
}

TEST_F(WaitingRunsTest, RunsWithLargeStatesAreTakenSomeAtATime) {
  constexpr int kRuns = 4;
  for (int i = 0; i < kRuns; ++i) {
    const BeginRunRequest run = RunOn(Numbered("t", i), "", "r");
    BeginRunReply begun;
    EXPECT_TRUE(pack::FromBytes(a_.Execute(Operation::kBeginRun, run).reply.body, begun));
    AppendRunRequest append = AppendOf(run, begun);
    append.entries = {{"run_started", "{}", 0}};
    append.entries[0].effect = StateEffect{
        .fields = {{.name = "text", .value_json = '"' + std::string(5 * 1024 * 1024, 'x') + '"'}}};
    EXPECT_TRUE(a_.Execute(Operation::kAppendRun, append).status.ok());
  }
  DeclareDead(a_);
  const auto left = [&] {
    return Run({"SELECT count(*) FROM agent_graph.lease WHERE lease_key IS NOT NULL"})[0].Bigint(0);
  };
  std::optional<uint64_t> first = b_.TakeOver(a_.instance());
  b_.Commit();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(left(), 2);
  first = b_.TakeOver(a_.instance(), *first);
  b_.Commit();
  EXPECT_EQ(left(), 0);
}

TEST_F(WaitingRunsTest, LargeRequestsAreTakenOneByOne) {
  const std::string large(5 * 1024 * 1024, 'x');
  for (int i = 0; i < 2; ++i) Accept(Numbered("t", i), large);
  DeclareDead(a_);
  const std::optional<uint64_t> first = b_.TakeOver(a_.instance());
  b_.Commit();
  EXPECT_EQ(RunsOf(b_), 1);
  ASSERT_TRUE(first.has_value());
  b_.TakeOver(a_.instance(), *first);
  b_.Commit();
  EXPECT_EQ(RunsOf(b_), 2);
}

TEST_F(WaitingRunsTest, TheStartOfAHostReadsItsOwn) {
  AddRequestThatCannotBeRead();
  const HostStore next(Options());
}

// No worker of either host takes runs.
TEST_F(WaitingRunsTest, EndAtTheirDeadlineAtTheHostThatHasTakenThem) {
  AcceptRunRequest accept;
  accept.begin = RunOn("t", "", "r");
  accept.continued_until_micros = UnixMicros() + int64_t{24} * 3600 * 1'000'000;
  accept.deadline_micros = UnixMicros() + int64_t{3600} * 1'000'000;
  EXPECT_TRUE(a_.Execute(Operation::kAcceptRun, accept).status.ok());
  DeclareDead(a_);
  b_.TakeOver(a_.instance());
  b_.Commit();
  EXPECT_EQ(RunsOf(b_), 1);
  const auto past_deadline = MonotonicClock::now() + std::chrono::hours(2);
  EXPECT_LT(b_.store().next_tick(), past_deadline);
  b_.store().Tick(past_deadline);
  b_.Commit();
  EXPECT_EQ(RunsOf(b_), 0);
  const Result<RunRecord> run =
      ReadRun(DatabaseSnapshot(other_.database()), {Scope::All(), "t", "r"});
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->state, RunState::kError);
  EXPECT_EQ(run->reason, "deadline");
  const StoreReply next = other_.Execute(Operation::kBeginRun, RunOn("t", "", "next"));
  EXPECT_TRUE(next.status.ok() && !next.queued);
}

// Another host takes some of them over after this one has chosen what to lock.
TEST_F(WaitingRunsTest, AreNotTakenWithoutTheLockOfTheBatch) {
  for (int i = 0; i < kAtOnce + 5; ++i) Accept(Numbered("t", i));
  DeclareDead(a_);
  BatchUse use;
  b_.store().AddTakenOver(a_.instance(), 0, use);
  other_.TakeOver(a_.instance());
  other_.Commit();
  ASSERT_EQ(RunsOf(other_), kAtOnce);
  ASSERT_TRUE(b_.database().Prepare(use).ok());
  b_.store().SyncLeases(use);
  const std::optional<uint64_t> first = b_.store().TakeOver(a_.instance(), 0);
  b_.Commit();
  EXPECT_EQ(RunsOf(b_), 0);
  ASSERT_TRUE(first.has_value());
  b_.TakeOver(a_.instance(), *first);
  b_.Commit();
  EXPECT_EQ(RunsOf(b_), 5);
}

}  // namespace
}  // namespace agent_graph::state
