#include "state/postgres/housekeeping.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "state/pack/fields.h"
#include "state/postgres/memories/memory_changes.h"
#include "state/postgres/run_totals.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "test_database.h"

namespace agent_graph::state::postgres {
namespace {

class HousekeepingTest : public DatabaseTest {
 protected:
  void AddDead(const std::string& id) {
    Run(
        {"INSERT INTO agent_graph.instance (id, incarnation, host, address, version, schema, dead, "
         "ended) VALUES ($1, 1, '', '', '', 1, true, now() - interval '2 hours')",
         {Value::Uuid(id)}});
  }
  const std::shared_ptr<DatabaseStatus> status_ = std::make_shared<DatabaseStatus>();
  Housekeeping::Warn Warn() {
    return [this](const std::string& text) { warnings_.push_back(text); };
  }
  std::vector<std::string> warnings_;
  static std::string IdOf(int number) { return std::string(31, '0') + std::to_string(number); }
};

TEST_F(HousekeepingTest, RemovesWhatNoHostNeeds) {
  AddDead(IdOf(1));
  AddDead(IdOf(2));
  AddDead(IdOf(3));
  Run({"INSERT INTO agent_graph.lease (thread, lease_key, instance) VALUES ('t', 'l', $1)",
       {Value::Uuid(IdOf(2))}});
  Run(
      {"INSERT INTO agent_graph.run_request (key, run_order, instance, value) VALUES ('r', 1, $1, "
       "'')",
       {Value::Uuid(IdOf(3))}});
  Run(
      {"INSERT INTO agent_graph.memory_change (bucket, seq, number, owner, created) VALUES (7, 5, "
       "1, '', now() - interval '2 hours'), (7, 6, 1, '', now())"});
  Housekeeping housekeeping(Options(), IdOf(9), status_, Warn());
  const Status done = housekeeping.Tidy();
  ASSERT_TRUE(done.ok()) << done.ToString();
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.instance"), 2);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.memory_change"), 1);
  EXPECT_EQ(Number("SELECT floor FROM agent_graph.memory_bucket WHERE bucket = 7"), 5);
}

TEST_F(HousekeepingTest, RemovesRepliesAndNoticesOfDeadInstances) {
  AddDead(IdOf(1));
  Run(
      {"INSERT INTO agent_graph.instance (id, incarnation, host, address, version, schema) "
       "VALUES ($1, 1, '', '', '', 1)",
       {Value::Uuid(IdOf(2))}});
  for (const int host : {1, 2}) {
    Run({"INSERT INTO agent_graph.reply (key, value) VALUES ($1, '')",
         {Value::Bytes(keys::Reply(IdOf(host) + "client", 1))}});
    Run({"INSERT INTO agent_graph.notice (instance, kind, body) VALUES ($1, 1, '')",
         {Value::Uuid(IdOf(host))}});
  }
  Housekeeping housekeeping(Options(), IdOf(9), status_, Warn());
  const Status done = housekeeping.Tidy();
  ASSERT_TRUE(done.ok()) << done.ToString();
  const Rows replies = Run({"SELECT key FROM agent_graph.reply"});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].Bytes(0), keys::Reply(IdOf(2) + "client", 1));
  const Rows notices = Run({"SELECT instance FROM agent_graph.notice"});
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].Uuid(0), IdOf(2));
}

TEST_F(HousekeepingTest, RemovesManyChangesOfMemoriesInParts) {
  Run(
      {"INSERT INTO agent_graph.memory_change (bucket, seq, number, owner, created) SELECT n % 3, "
       "n, "
       "1, '', now() - interval '2 hours' FROM generate_series(1, 2500) AS n"});
  const auto part = connection_.Execute(RemoveMemoryChanges(std::chrono::hours(1)));
  ASSERT_TRUE(part.ok()) << part.status().ToString();
  EXPECT_TRUE(MayLeaveMemoryChanges(*part));
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.memory_change"), 1500);
  // A transaction that changes memories of other owners does not delay the removal.
  ConnectionOptions patient = Options();
  patient.idle_in_transaction_timeout = kPatience;
  Connection other(patient);
  other.Begin();
  ASSERT_TRUE(
      other.Execute({"SELECT 1 FROM agent_graph.memory_bucket WHERE bucket = 3 FOR UPDATE"}).ok());
  Housekeeping housekeeping(Options(), IdOf(1), status_, Warn());
  const Status done = housekeeping.Tidy();
  EXPECT_TRUE(done.ok()) << done.ToString();
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.memory_change"), 0);
  EXPECT_EQ(Number("SELECT max(floor) FROM agent_graph.memory_bucket"), 2500);
}

TEST_F(HousekeepingTest, TotalsOfDeadInstancesBecomeOneRow) {
  const auto key_of = [](int host) {
    return keys::Meta(kRunTotalsName + (host == 0 ? "" : IdOf(host)));
  };
  const auto totals_of = [&](int host) {
    const Rows rows =
        Run({"SELECT value FROM agent_graph.meta WHERE key = $1", {Value::Bytes(key_of(host))}});
    RunTotals totals;
    if (!rows.empty()) EXPECT_TRUE(pack::FromBytes(rows[0].Bytes(0), totals));
    return totals;
  };
  AddDead(IdOf(1));
  Run(
      {"INSERT INTO agent_graph.instance (id, incarnation, host, address, version, schema) "
       "VALUES ($1, 1, '', '', '', 1)",
       {Value::Uuid(IdOf(2))}});
  // The instance 3 was removed long ago.
  for (const int host : {1, 2, 3}) {
    RunTotals totals;
    totals.continued = static_cast<uint64_t>(host);
    totals.poisoned = static_cast<uint64_t>(10 * host);
    Run({"INSERT INTO agent_graph.meta (key, value) VALUES ($1, $2)",
         {Value::Bytes(key_of(host)), Value::Bytes(pack::ToBytes(totals))}});
  }
  Run({"INSERT INTO agent_graph.meta (key, value) VALUES ($1, 'other')",
       {Value::Bytes(keys::Meta(kRemoteToolsName))}});
  for (int i = 0; i < 2; ++i) {
    const Status folded = FoldRunTotals(connection_);
    ASSERT_TRUE(folded.ok()) << folded.ToString();
    EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.meta"), 3);
    EXPECT_EQ(totals_of(0).continued, 4u);
    EXPECT_EQ(totals_of(0).poisoned, 40u);
    EXPECT_EQ(totals_of(2).continued, 2u);
  }
  Run({"UPDATE agent_graph.instance SET dead = true"});
  Housekeeping housekeeping(Options(), IdOf(9), status_, Warn());
  const Status done = housekeeping.Tidy();
  ASSERT_TRUE(done.ok()) << done.ToString();
  EXPECT_EQ(totals_of(0).continued, 6u);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.meta"), 2);
}

// Each thread has a row there, so the table may be huge.
TEST_F(HousekeepingTest, ReadsOnlyTheLeasesThatRunsHold) {
  Run(
      {"INSERT INTO agent_graph.lease (thread) SELECT int4send(n) FROM generate_series(1, 20000) "
       "AS n"});
  Run({"ANALYZE agent_graph.lease"});
  const Rows plan = Run({"EXPLAIN " + RemoveUnusedInstances().text});
  for (size_t i = 0; i < plan.size(); ++i) {
    EXPECT_EQ(plan[i].Text(0).find("Seq Scan on lease"), std::string::npos) << plan[i].Text(0);
  }
}

TEST_F(HousekeepingTest, AFailureKeepsWhatWasRemovedAndIsLoggedOnce) {
  AddDead(IdOf(1));
  Run({"INSERT INTO agent_graph.notice (instance, kind, body) VALUES ($1, 1, '')",
       {Value::Uuid(IdOf(1))}});
  Run({"ALTER TABLE agent_graph.run_request RENAME TO hidden"});
  Housekeeping housekeeping(Options(), IdOf(9), status_, Warn());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(housekeeping.Tidy().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.notice"), 0);
  EXPECT_EQ(warnings_.size(), 1u);
  Run({"ALTER TABLE agent_graph.hidden RENAME TO run_request"});
  EXPECT_TRUE(housekeeping.Tidy().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.instance"), 0);
}

TEST_F(HousekeepingTest, OneHostDoesItForAll) {
  Housekeeping first(Options(), IdOf(1), status_, Warn());
  Housekeeping second(Options(), IdOf(2), status_, Warn());
  ASSERT_TRUE(first.Tidy().ok());
  AddDead(IdOf(3));
  ASSERT_TRUE(second.Tidy().ok());  // not due yet
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.instance"), 1);
}

TEST_F(HousekeepingTest, MeasuresTheDatabase) {
  Housekeeping housekeeping(Options(), IdOf(1), status_, Warn());
  EXPECT_EQ(status_->standbys, DatabaseStatus::kUnknown);
  housekeeping.Measure();
  EXPECT_EQ(status_->standbys, 0u);
  EXPECT_EQ(status_->standby_lag_micros, 0u);
  EXPECT_NE(status_->dead_rows, DatabaseStatus::kUnknown);
}

TEST_F(HousekeepingTest, WhatCannotBeReadIsUnknown) {
  ConnectionOptions nowhere = Options();
  nowhere.url = "postgresql://127.0.0.1:1/nowhere";
  Housekeeping housekeeping(nowhere, IdOf(1), status_, Warn());
  status_->standbys = 3;
  housekeeping.Measure();
  EXPECT_EQ(status_->standbys, DatabaseStatus::kUnknown);
  EXPECT_EQ(status_->dead_rows, DatabaseStatus::kUnknown);
  EXPECT_FALSE(housekeeping.Tidy().ok());
  EXPECT_EQ(warnings_.size(), 0u) << "that the database is away is logged elsewhere";
}

TEST_F(HousekeepingTest, StopEndsItsThread) {
  Housekeeping housekeeping(Options(), IdOf(1), status_, Warn());
  ASSERT_TRUE(housekeeping.Start().ok());
  housekeeping.Stop();
}

}  // namespace
}  // namespace agent_graph::state::postgres
