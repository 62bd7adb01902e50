// Records of runs that have waited for their thread, or were stopped while they waited.
#include <string>
#include <vector>

#include "state/thread/run_read.h"
#include "store_fixture.h"

namespace agent_graph::state {
namespace {

class QueuedRecordsTest : public StoreTest {
 protected:
  // The thread has a run in flight.
  void StopQueuedRuns(uint64_t runs, uint64_t& sequence) {
    for (uint64_t i = 0; i < runs; ++i) {
      AcceptRunRequest accept;
      accept.begin = RunOn("t", "", Numbered("queued", i));
      Apply(++sequence, Operation::kAcceptRun, accept);
      Apply(++sequence, Operation::kRequestStop,
            StopRequest{Scope::All(), "t", true, accept.begin.run_id});
      for (const StoreReply& reply : Commit()) ASSERT_TRUE(reply.status.ok());
    }
  }
  size_t Records() {
    size_t records = 0;
    const std::string prefix = keys::TablePrefix(keys::Table::kRun);
    EXPECT_TRUE(database_
                    ->Scan(prefix, keys::PrefixEnd(prefix),
                           [&](std::string_view, std::string_view) {
                             ++records;
                             return true;
                           })
                    .ok());
    return records;
  }
};

TEST_F(QueuedRecordsTest, AreBounded) {
  uint64_t sequence = 0;
  Apply(++sequence, Operation::kBeginRun, RunOn("t", "", "run"));
  StopQueuedRuns(1500, sequence);
  EXPECT_GE(Records(), kRunsKeptMax);
  EXPECT_LE(Records(), kRunsKeptMax + 200);
}

TEST_F(QueuedRecordsTest, DoNotReplaceThoseOfRunsThatWereExecuted) {
  const BeginRunRequest executed = RunOn("t", "", "executed");
  Apply(1, Operation::kBeginRun, executed);
  BeginRunReply begun;
  begun.lease_epoch = 1;
  Apply(2, Operation::kFinishRun, FinishOf(executed, begun));  // long ago
  uint64_t sequence = 2;
  Apply(++sequence, Operation::kBeginRun, RunOn("t", "", "run"));
  for (const StoreReply& reply : Commit()) ASSERT_TRUE(reply.status.ok());
  StopQueuedRuns(300, sequence);
  const Result<RunRecord> record =
      ReadRun(DatabaseSnapshot(*database_), {Scope::All(), "t", "executed"});
  EXPECT_TRUE(record.ok()) << "the log still has its entries";
}

TEST_F(QueuedRecordsTest, DoNotReplaceThatOfThePause) {
  const BeginRunRequest pausing = RunOn("t", "", "pausing");
  Apply(1, Operation::kBeginRun, pausing);
  BeginRunReply begun;
  begun.lease_epoch = 1;
  FinishRunRequest finish = FinishOf(pausing, begun);
  finish.status = "interrupted";
  finish.snapshot.execution_json = kPaused;
  Apply(2, Operation::kFinishRun, finish);
  uint64_t sequence = 2;
  Apply(++sequence, Operation::kBeginRun, RunOn("t", "", "run"));
  StopQueuedRuns(kRunsKeptMax + 200, sequence);
  const DatabaseSnapshot snapshot(*database_);
  const Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
  ASSERT_TRUE(thread.ok());
  const auto record = snapshot.Get(keys::Run(thread->key(), "pausing"));
  ASSERT_TRUE(record.ok());
  EXPECT_TRUE(record->has_value());
}

TEST_F(QueuedRecordsTest, ARunOfAClientThatHasWaitedStartsWhenItsTurnHasCome) {
  const auto record = [&](const std::string& run_id) {
    const Result<RunRecord> run =
        ReadRun(DatabaseSnapshot(*database_), {Scope::All(), "t", run_id});
    EXPECT_TRUE(run.ok());
    return run.ok() ? *run : RunRecord();
  };
  const int64_t asked = now_micros_;
  const int64_t before = UnixMicros();
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunRequest second = RunOn("t", "", "second");
  Apply(1, Operation::kBeginRun, first);
  Apply(2, Operation::kBeginRun, second);
  BeginRunReply begun;
  begun.lease_epoch = 1;
  Apply(3, Operation::kFinishRun, FinishOf(first, begun));
  Commit();
  EXPECT_EQ(record("first").created_micros, asked);
  EXPECT_EQ(record("first").started_micros, asked);
  EXPECT_EQ(record("second").created_micros, asked);
  EXPECT_GE(record("second").started_micros, before) << "while it is in flight";
  const int64_t started = record("second").started_micros;
  begun.lease_epoch = 2;
  Apply(4, Operation::kFinishRun, FinishOf(second, begun));
  Commit();
  EXPECT_EQ(record("second").created_micros, asked);
  EXPECT_EQ(record("second").started_micros, started);
}

// Otherwise its time of creation would go back when it begins, and with it its place in the list of
// runs.
TEST_F(QueuedRecordsTest, ARunIsNotCreatedWhenTheOneBeforeItBegins) {
  const BeginRunRequest first = RunOn("t", "", "first");
  Apply(1, Operation::kBeginRun, first);
  now_micros_ += 1000;
  Apply(2, Operation::kBeginRun, RunOn("t", "", "second"));
  const int64_t asked = now_micros_ += 1000;
  Apply(3, Operation::kBeginRun, RunOn("t", "", "third"));
  Commit();
  const auto expect_waiting = [&](const std::vector<std::string>& newest_first) {
    const Result<RunPage> page =
        ReadRunPage(DatabaseSnapshot(*database_), ListRunsRequest{Scope::All(), "t"});
    ASSERT_TRUE(page.ok());
    std::vector<std::string> ids;
    for (const RunRecord& run : page->runs) ids.push_back(run.run_id);
    EXPECT_EQ(ids, newest_first);
    EXPECT_EQ(page->runs.front().created_micros, asked);
    EXPECT_EQ(page->runs.front().started_micros, 0);
  };
  expect_waiting({"third", "second", "first"});
  BeginRunReply begun;
  begun.lease_epoch = 1;
  Apply(4, Operation::kFinishRun, FinishOf(first, begun));
  Commit();
  expect_waiting({"third", "second", "first"});
}

}  // namespace
}  // namespace agent_graph::state
