// The sweep of a shared database: it deletes the rows of deleted threads and cut logs while hosts
// write.
#include "state/postgres/row_sweep.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host_store.h"
#include "state/postgres/housekeeping.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "state/verify/verify.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

using postgres::Connection;
using postgres::RowSweep;
using postgres::Value;

class RowSweepTest : public postgres::DatabaseTest {
 protected:
  static StateOptions KeepingFewLogs() {
    StateOptions options;
    options.log_kept = std::chrono::seconds(0);
    return options;
  }
  static std::vector<StoredMessage> Messages(int count) {
    std::vector<StoredMessage> messages;
    for (int i = 0; i < count; ++i) messages.push_back(UserMessage(Numbered("m", i)));
    return messages;
  }
  void Delete(const std::string& thread_id) {
    const StoreReply deleted =
        host_.Execute(Operation::kDeleteThread, ThreadRequest{Scope::All(), thread_id});
    EXPECT_TRUE(deleted.status.ok()) << deleted.status.ToString();
  }
  // Sweeps until nothing is left. Returns the number of portions.
  static int SweepAll(RowSweep& sweep) {
    for (int portions = 0;; ++portions) {
      const Result<bool> more = sweep.Next();
      EXPECT_TRUE(more.ok()) << more.status().ToString();
      if (!more.ok() || !*more) return portions;
    }
  }
  int64_t Markers() {
    return Run({"SELECT count(*) FROM agent_graph.lookup WHERE substr(key, 1, 1) = $1",
                {Value::Bytes(keys::TablePrefix(keys::Table::kDeleted))}})[0]
        .Bigint(0);
  }
  int64_t Cuts() {
    return Run({"SELECT count(*) FROM agent_graph.head WHERE substr(key, 1, 1) = $1",
                {Value::Bytes(keys::TablePrefix(keys::Table::kLogCut))}})[0]
        .Bigint(0);
  }
  int64_t Left() {
    int64_t rows = Markers();
    for (const char* table : {"message", "run", "run_request", "log", "head", "snapshot"}) {
      rows += Number(std::string("SELECT count(*) FROM agent_graph.") + table);
    }
    return rows;
  }
  // A run on the thread whose log is cut.
  void RunOnce() {
    const BeginRunRequest run = RunOn("t");
    BeginRunReply begun;
    begun.lease_epoch = ++epoch_;
    host_.Execute(Operation::kBeginRun, run);
    FinishRunRequest finish = FinishOf(run, begun);
    finish.append.entries.insert(finish.append.entries.begin(), {kRunStarted, "{}", 0});
    const StoreReply finished = host_.Execute(Operation::kFinishRun, finish);
    EXPECT_TRUE(finished.status.ok()) << finished.status.ToString();
  }
  void ExpectNoFaults() {
    const Result<VerifyReport> report = Verify(host_.database(), nullptr);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->problem_count, 0u) << testing::PrintToString(report->problems);
  }

  HostStore host_{Patient(), false, KeepingFewLogs()};
  Connection sweeper_{Patient()};
  RowSweep sweep_{sweeper_};
  uint64_t epoch_ = 0;
};

TEST_F(RowSweepTest, DeletedThreadsAreSweptToTheLastRow) {
  host_.RunTurn("kept", {UserMessage("m")});
  const int64_t kept = Left();
  for (int i = 0; i < 200; ++i) host_.RunTurn(Numbered("t", i), Messages(3));
  for (int i = 0; i < 200; ++i) Delete(Numbered("t", i));
  EXPECT_GT(Left(), kept);
  EXPECT_FALSE(host_.store().wants_sweep()) << "the write thread sweeps too";
  EXPECT_LE(SweepAll(sweep_), 5) << "a portion has few threads";
  EXPECT_EQ(Left(), kept);
  ExpectNoFaults();
}

TEST_F(RowSweepTest, AThreadWithManyRowsIsSweptInPortions) {
  host_.RunTurn("large", Messages(2500));
  host_.RunTurn("small", Messages(1));
  Delete("large");
  Delete("small");
  ASSERT_TRUE(sweep_.Next().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.message"), 1501);
  EXPECT_EQ(Markers(), 2);
  SweepAll(sweep_);
  EXPECT_EQ(Left(), 0);
}

TEST_F(RowSweepTest, ThreadsThatAreDeletedBehindItAreFoundByTheNextPass) {
  host_.RunTurn("early", Messages(1));
  host_.RunTurn("late", Messages(1));
  Delete("late");
  ASSERT_TRUE(sweep_.Next().ok());
  Delete("early");
  SweepAll(sweep_);
  SweepAll(sweep_);
  EXPECT_EQ(Left(), 0);
}

// As two hosts do if one of them was away while it swept.
TEST_F(RowSweepTest, TwoMaySweepAtOnce) {
  host_.RunTurn("large", Messages(2500));
  for (int i = 0; i < 100; ++i) host_.RunTurn(Numbered("t", i), Messages(2));
  Delete("large");
  for (int i = 0; i < 100; ++i) Delete(Numbered("t", i));
  std::array<std::thread, 2> hosts;
  for (std::thread& host : hosts) {
    host = std::thread([this] {
      Connection connection(Patient());
      RowSweep sweep(connection);
      SweepAll(sweep);
    });
  }
  for (std::thread& host : hosts) host.join();
  SweepAll(sweep_);
  EXPECT_EQ(Left(), 0);
}

TEST_F(RowSweepTest, ATableIsNotReadAsAWhole) {
  Run(
      {"INSERT INTO agent_graph.message (key, id_key, value) SELECT '\\x15ff'::bytea || "
       "int4send(n), int4send(n), '' FROM generate_series(1, 20000) AS n"});
  Run({"ANALYZE agent_graph.message"});
  for (int i = 0; i < 70; ++i) host_.RunTurn(Numbered("t", i), Messages(1));
  for (int i = 0; i < 70; ++i) Delete(Numbered("t", i));
  sweeper_.Begin();
  SweepAll(sweep_);
  const auto read = sweeper_.Execute(
      {"SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'message'"});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ((*read)[0].Bigint(0), 0);
  sweeper_.Rollback();
}

// A statement that waits too long for another transaction is tried again with fewer rows.
TEST_F(RowSweepTest, AfterATimeoutPortionsAreSmallerAndNothingIsLost) {
  host_.RunTurn("t", Messages(300));
  Delete("t");
  postgres::ConnectionOptions impatient = Options();
  impatient.lock_timeout = std::chrono::milliseconds(1);
  Connection connection(impatient);
  RowSweep sweep(connection);
  Connection other(Patient());
  other.Begin();
  ASSERT_TRUE(other.Execute({"SELECT 1 FROM agent_graph.message FOR UPDATE"}).ok());
  EXPECT_FALSE(sweep.Next().ok());
  EXPECT_EQ(Markers(), 1);
  other.Rollback();
  ASSERT_TRUE(sweep.Next().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.message"), 300 - 1000 / 8);
  SweepAll(sweep);
  EXPECT_EQ(Left(), 0);
}

TEST_F(RowSweepTest, AMarkerThatNamesNoThreadDeletesNothing) {
  host_.RunTurn("kept", Messages(1));
  const int64_t kept = Left();
  Run({"INSERT INTO agent_graph.lookup (key, value) VALUES ($1, '')",
       {Value::Bytes(keys::TablePrefix(keys::Table::kDeleted) + "x")}});
  SweepAll(sweep_);
  EXPECT_EQ(Left(), kept + 1);
}

TEST_F(RowSweepTest, EntriesThatWereCutOffAreSwept) {
  while (Cuts() == 0) RunOnce();
  const int64_t entries = Number("SELECT count(*) FROM agent_graph.log");
  SweepAll(sweep_);
  EXPECT_EQ(Cuts(), 0);
  EXPECT_LT(Number("SELECT count(*) FROM agent_graph.log"), entries);
  ExpectNoFaults();
}

// The entries are deleted while a host extends the cut.
TEST_F(RowSweepTest, ACutThatIsExtendedMeanwhileIsSweptToo) {
  while (Cuts() == 0) RunOnce();
  for (uint64_t i = 1; i < kRunsPerMark; ++i) RunOnce();
  const int64_t entries = Number("SELECT count(*) FROM agent_graph.log");
  // Keeps the sweep between its read of the cut and its deletion.
  Connection other(Patient());
  other.Begin();
  ASSERT_TRUE(other.Execute({"SELECT 1 FROM agent_graph.log FOR UPDATE"}).ok());
  std::thread sweeping([this] { SweepAll(sweep_); });
  while (Number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                "wait_event_type = 'Lock'") == 0) {
    std::this_thread::yield();
  }
  RunOnce();  // extends the cut
  other.Rollback();
  sweeping.join();
  EXPECT_EQ(Cuts(), 1);
  ExpectNoFaults();
  SweepAll(sweep_);
  EXPECT_EQ(Cuts(), 0);
  EXPECT_LT(Number("SELECT count(*) FROM agent_graph.log"), entries);
  ExpectNoFaults();
}

TEST_F(RowSweepTest, OneHostSweepsForAll) {
  host_.RunTurn("t", Messages(1));
  const auto status = std::make_shared<DatabaseStatus>();
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  postgres::Housekeeping first(Options(), std::string(31, '0') + "1", status, warn);
  postgres::Housekeeping second(Options(), std::string(31, '0') + "2", status, warn);
  ASSERT_TRUE(first.Sweep(kNoDeadline).ok());
  Delete("t");
  ASSERT_TRUE(second.Sweep(kNoDeadline).ok());  // not due yet
  EXPECT_EQ(Markers(), 1);
  Run({"UPDATE agent_graph.job SET due = now()"});
  ASSERT_TRUE(second.Sweep(kNoDeadline).ok());
  EXPECT_EQ(Left(), 0);
  Run({"ALTER TABLE agent_graph.lookup RENAME TO hidden"});
  Run({"UPDATE agent_graph.job SET due = now()"});
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(first.Sweep(kNoDeadline).ok());
  EXPECT_EQ(warnings.size(), 1u);
}

}  // namespace
}  // namespace agent_graph::state
