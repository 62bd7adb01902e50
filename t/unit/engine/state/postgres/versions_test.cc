// The version of a thread in the cache of a host equals the one in the database.
#include <gtest/gtest.h>

#include <string>

#include "host_store.h"
#include "state/rows/keys.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class VersionsTest : public postgres::DatabaseTest {
 protected:
  int64_t Version() { return Number("SELECT version FROM agent_graph.lease"); }
  static BeginRunRequest AtOnce(const std::string& run_id) {
    BeginRunRequest run = RunOn("t", "", run_id);
    run.enqueue_if_busy = false;
    return run;
  }

  HostStore a_{Options()};
  HostStore b_{Options()};
};

TEST_F(VersionsTest, ALeaseThatBeginsAndEndsInOneBatchCounts) {
  a_.RunTurn("t", {UserMessage("m1")});
  const int64_t before = Version();
  a_.Add(Operation::kBeginRun, AtOnce("r1"));
  a_.Add(Operation::kReleaseRun, ReleaseRunRequest{"t", "r1", 0});
  a_.Execute();
  EXPECT_EQ(Version(), before + 1);
  EXPECT_TRUE(b_.Execute(Operation::kBeginRun, AtOnce("r2")).status.ok());
  EXPECT_EQ(a_.Execute(Operation::kBeginRun, AtOnce("r3")).status.code(), StatusCode::kBusy);
}

TEST_F(VersionsTest, EachKindOfChangeCountsOnce) {
  a_.RunTurn("t", {UserMessage("m1")});
  int64_t version = Version();
  const BeginRunRequest run = AtOnce("r");
  BeginRunReply begun;
  begun.lease_epoch = a_.Execute(Operation::kBeginRun, run).reply.lease_epoch;
  EXPECT_EQ(Version(), ++version);  // the lease is put
  a_.Execute(Operation::kFinishRun, FinishOf(run, begun));
  EXPECT_EQ(Version(), ++version);  // the lease is deleted
  a_.Execute(Operation::kAppendMessages, MessagesOn("t", "", {UserMessage("m2")}));
  EXPECT_EQ(Version(), ++version);  // the lease is not changed
}

// A standby that is behind has become the primary, while this host was idle.
TEST_F(VersionsTest, AnotherSessionKnowsNoThreads) {
  a_.RunTurn("t", {UserMessage("m1")});
  // The version that `a` knows belongs to another change.
  Run({"UPDATE agent_graph.lease SET version = version - 1"});
  b_.Execute(Operation::kAppendMessages, MessagesOn("t", "", {UserMessage("m2")}));
  Run(
      {"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = "
       "current_database() AND pid <> pg_backend_pid()"});
  a_.RunTurn("t", {UserMessage("m3")});
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.message"), 3);
}

TEST_F(VersionsTest, ATransactionOfASessionThatHasEndedDoesNotBegin) {
  ASSERT_TRUE(connection_.Open().ok());
  const uint64_t session = connection_.sessions();
  connection_.Begin(session);
  EXPECT_TRUE(connection_.Commit({{"SELECT 1"}}).ok());
  connection_.Close();
  for (const bool at_once : {true, false}) {
    connection_.Begin(session);
    const auto rows =
        at_once ? connection_.Commit({{"SELECT 1"}}) : connection_.ExecuteAll({{"SELECT 1"}});
    EXPECT_EQ(rows.status().code(), StatusCode::kUnavailable);
    if (connection_.in_transaction()) connection_.Rollback();
  }
  connection_.Begin();
  EXPECT_TRUE(connection_.Commit({{"SELECT 1"}}).ok());
}

}  // namespace
}  // namespace agent_graph::state
