// An accepted run of a thread that cannot be read: its worker ends it, and it is not granted again.
#include <gtest/gtest.h>
#include <leveldb/write_batch.h>

#include "../conformance/grants.h"
#include "maintenance_fixture.h"
#include "state/rows/keys.h"
#include "state/runs.h"

namespace agent_graph::state {
namespace {

class DamagedThreadTest : public MaintenanceTest {
 protected:
  void SetUp() override {
    Serve([](Client& client) { RunTurn(client, "t", "alice", {UserMessage("m1")}); });
    Open([](LevelDatabase& database) {
      leveldb::WriteBatch batch;
      batch.Put(keys::Snapshot({"alice", 1}), "not a row");
      ASSERT_TRUE(database.Write(batch, true).ok());
    });
  }
};

TEST_F(DamagedThreadTest, ItsAcceptedRunEnds) {
  const auto server = StartServer(directory_.path());
  Grants grants;
  StateOptions options;
  options.directory = directory_.path();
  options.operation_timeout = kPatience;
  options.on_run_granted = grants.Receiver();
  Client worker(options);
  ASSERT_TRUE(worker.Start().ok());
  AcceptRunRequest accept;
  accept.begin = RunOn("t", "alice", "r");
  accept.request = "request";
  accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
  ASSERT_TRUE(worker.AcceptRun(accept).ok());
  const GrantedRun granted = grants.Next();
  BeginRunRequest begin = RunOn("t", "alice", "r");
  begin.granted = true;
  begin.granted_epoch = granted.lease_epoch;
  ASSERT_EQ(worker.BeginRun(begin, nullptr).status().code(), StatusCode::kDataLoss);
  // The worker still has the lease.
  FinishRunRequest finish;
  finish.append.thread_id = "t";
  finish.append.run_id = "r";
  finish.append.lease_epoch = granted.lease_epoch;
  finish.append.first_entry = 0;
  finish.append.durable = true;
  finish.state_unread = true;
  finish.status = "error";
  finish.reason = "DATA_LOSS";
  const Status finished = worker.FinishRun(finish);
  EXPECT_TRUE(finished.ok()) << finished.ToString();
  const Result<RunRecord> run = worker.GetRun({Scope::All(), "t", "r"});
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->state, RunState::kError);
  EXPECT_EQ(run->reason, "DATA_LOSS");
  EXPECT_EQ(run->attempt, 1u);
  worker.Stop();
}

}  // namespace
}  // namespace agent_graph::state
