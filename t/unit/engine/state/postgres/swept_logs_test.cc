// A host deletes the entries that were cut off a thread's log, while another one cuts off more.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "host_store.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "state/verify/verify.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class SweptLogsTest : public postgres::DatabaseTest {
 protected:
  static StateOptions KeepingFewLogs() {
    StateOptions options;
    options.log_kept = std::chrono::seconds(0);
    return options;
  }
  // A run on the thread whose log is cut.
  void RunOnce() {
    const BeginRunRequest run = RunOn("t");
    BeginRunReply begun;
    begun.lease_epoch = ++epoch_;
    cuts_.Execute(Operation::kBeginRun, run);
    FinishRunRequest finish = FinishOf(run, begun);
    finish.append.entries.insert(finish.append.entries.begin(), {kRunStarted, "{}", 0});
    const StoreReply finished = cuts_.Execute(Operation::kFinishRun, finish);
    EXPECT_TRUE(finished.status.ok()) << finished.status.ToString();
  }
  int64_t Cuts() {
    return Run({"SELECT count(*) FROM agent_graph.head WHERE substr(key, 1, 1) = $1",
                {postgres::Value::Bytes(keys::TablePrefix(keys::Table::kLogCut))}})[0]
        .Bigint(0);
  }
  bool IsLockAwaited() {
    return Number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") > 0;
  }

  HostStore cuts_{Patient(), false, KeepingFewLogs()};
  HostStore sweeps_{Patient()};
  uint64_t epoch_ = 0;
};

TEST_F(SweptLogsTest, ACutThatIsExtendedMeanwhileIsSweptToo) {
  while (Cuts() == 0) RunOnce();
  for (uint64_t i = 1; i < kRunsPerMark; ++i) RunOnce();
  sweeps_.store().Sweep();
  std::atomic<bool> has_ended = false;
  // Extends the cut.
  std::thread extending([&] {
    RunOnce();
    has_ended = true;
  });
  while (!has_ended && !IsLockAwaited()) std::this_thread::yield();
  sweeps_.Commit();
  extending.join();
  EXPECT_EQ(Cuts(), 1);
  const Result<VerifyReport> report = Verify(sweeps_.database(), nullptr);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->problem_count, 0u) << testing::PrintToString(report->problems);
}

}  // namespace
}  // namespace agent_graph::state
