// A host whose database fails: acknowledged appends stay, and none is executed twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "../fixture.h"
#include "postgres_server.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::state {
namespace {

class DatabaseFaultsTest : public testing::Test {
 protected:
  static constexpr int kAppends = 40;

  void SetUp() override {
    postgres::Connection connection({.url = url_});
    ASSERT_TRUE(postgres::MigrateSchema(connection).ok());
    server_ = StartServer(directory_.path(), "postgres", StateOptions::kNewest, {}, url_);
    client_ = StartClient(directory_.path());
  }
  // One run appends numbered entries, on another thread, until `disturb` has returned, and at least
  // kAppends of them. Returns the number of acknowledged ones. A server ends with the thread that
  // has started it, so `disturb` runs on the test's thread.
  template <typename Disturb>
  int AppendDuring(Disturb disturb) {
    std::atomic<bool> over = false;
    int acknowledged = 0;
    std::thread appending([&] { acknowledged = AppendUntil(over); });
    disturb();
    over = true;
    appending.join();
    return acknowledged;
  }
  int AppendUntil(const std::atomic<bool>& over) {
    const BeginRunRequest run = RunOn("t", "", "r");
    const Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    if (!begun.ok()) return 0;
    int acknowledged = 0;
    for (int i = 0; i < kAppends || !over; ++i) {
      AppendRunRequest append = AppendOf(run, *begun, {UserMessage(Numbered("m", i))});
      append.entries.push_back({"step", std::to_string(i), 0});
      append.first_entry = static_cast<uint64_t>(i);
      append.durable = true;
      const Result<AppendRunReply> appended = client_->AppendRun(append);
      EXPECT_TRUE(appended.ok()) << i << ": " << appended.status().ToString();
      if (!appended.ok()) break;
      ++acknowledged;
    }
    const Status finished = client_->FinishRun(FinishOf(run, *begun));
    EXPECT_TRUE(finished.ok()) << finished.ToString();
    return acknowledged;
  }
  // A host that starts reads the table of imports before and after it joins. The second time that
  // it is read, the session ends.
  void EndSessionAfterJoin() {
    postgres::Connection connection({.url = url_});
    const Status made = connection.RunScript(
        "CREATE SEQUENCE checks; "
        "CREATE FUNCTION check_session() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
        "IF nextval('checks') = 2 THEN RAISE EXCEPTION 'ended' USING ERRCODE = '57P01'; END IF; "
        "RETURN true; END $$; "
        "DROP TABLE agent_graph.import; "
        "CREATE VIEW agent_graph.import AS "
        "SELECT 's' AS source, public.check_session() AS complete, 'd' AS digest");
    ASSERT_TRUE(made.ok()) << made.ToString();
  }
  // The log has each entry once, in order.
  void ExpectLog(int entries) {
    uint64_t index = 0;
    int next = 0;
    for (;;) {
      const Result<std::vector<LogEntry>> log = client_->ReadLog(Scope::All(), "t", index, 100);
      ASSERT_TRUE(log.ok()) << log.status().ToString();
      for (const LogEntry& entry : *log) {
        if (entry.kind == "step") {
          EXPECT_EQ(entry.json, std::to_string(next++));
        }
      }
      if (log->empty()) break;
      index += log->size();
    }
    EXPECT_EQ(next, entries);
  }

  PostgresServer postgres_{{.fsync = true}};
  const std::string url_ = postgres_.CreateDatabase();
  TemporaryDirectory directory_;
  std::unique_ptr<StateServer> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(DatabaseFaultsTest, TheDatabaseIsKilledAgainAndAgain) {
  const int acknowledged = AppendDuring([&] {
    for (int i = 0; i < 3; ++i) {
      postgres_.Kill();
      postgres_.Start();
      // Until a session works again, so that appends happen between two kills.
      postgres::Connection connection({.url = url_});
      EXPECT_TRUE(connection.OpenUntil(DeadlineAfter(kPatience)).ok());
    }
  });
  ExpectLog(acknowledged);
}

TEST_F(DatabaseFaultsTest, SessionsAreEndedAgainAndAgain) {
  const int acknowledged = AppendDuring([&] {
    postgres::Connection connection({.url = url_});
    for (int i = 0; i < 30; ++i) {
      // Waits for the end of each.
      Result<postgres::Rows> ended = connection.Execute(
          {"SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = "
           "current_database() AND pid <> pg_backend_pid()"});
      EXPECT_TRUE(ended.ok()) << ended.status().ToString();
    }
  });
  ExpectLog(acknowledged);
}

TEST_F(DatabaseFaultsTest, ASessionThatEndsWhileAHostStartsCostsNoRun) {
  const BeginRunRequest run = RunOn("t", "", "r");
  const Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  server_.reset();
  EndSessionAfterJoin();
  server_ = StartServer(directory_.path(), "postgres", StateOptions::kNewest, {}, url_);
  const Status finished = client_->FinishRun(FinishOf(run, *begun));
  EXPECT_TRUE(finished.ok()) << finished.ToString();
  // It is still the instance that had the run.
  postgres::Connection connection({.url = url_});
  const Result<postgres::Rows> instances = connection.Execute(
      {"SELECT count(*), (SELECT last_value FROM checks) FROM agent_graph.instance"});
  ASSERT_TRUE(instances.ok()) << instances.status().ToString();
  EXPECT_EQ((*instances)[0].Bigint(0), 1);
  EXPECT_GT((*instances)[0].Bigint(1), 2);  // the host has started again
}

TEST_F(DatabaseFaultsTest, AStateServerWaitsForADatabaseThatIsAway) {
  client_->Stop();
  server_.reset();
  postgres_.Stop();
  server_ = StartServer(directory_.path(), "postgres", StateOptions::kNewest, {}, url_);
  client_ = StartClient(directory_.path());
  EXPECT_GT(AppendDuring([&] { postgres_.Start(); }), 0);
}

}  // namespace
}  // namespace agent_graph::state
