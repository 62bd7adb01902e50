#include "state/postgres/schema/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "../postgres_server.h"

namespace agent_graph::state::postgres {
namespace {

using testing::HasSubstr;

class MigrationTest : public testing::Test {
 protected:
  ConnectionOptions Options() {
    ConnectionOptions options;
    options.url = url_;
    return options;
  }

  const std::string url_ = PostgresServer::Shared().CreateDatabase();
  Connection connection_{Options()};
  const std::vector<SchemaStep> later_ = [] {
    std::vector<SchemaStep> steps(SchemaSteps().begin(), SchemaSteps().end());
    const int last = steps.back().number;
    steps.push_back({last + 1, 1, "added", "CREATE TABLE agent_graph.added (id bigint);"});
    steps.push_back({last + 2, last + 2, "renamed", "DROP TABLE agent_graph.added;"});
    return steps;
  }();
};

TEST_F(MigrationTest, AnEmptyDatabaseIsRefusedUntilItIsMigrated) {
  const Status missing = CheckSchema(connection_);
  EXPECT_EQ(missing.code(), StatusCode::kNotConfigured);
  EXPECT_THAT(missing.message(), HasSubstr("agent-graph-admin migrate"));
  std::vector<int> done;
  const Status migrated =
      MigrateSchema(connection_, [&](const SchemaStep& step) { done.push_back(step.number); });
  ASSERT_TRUE(migrated.ok()) << migrated.ToString();
  EXPECT_EQ(done.size(), SchemaSteps().size());
  EXPECT_TRUE(CheckSchema(connection_).ok());
  done.clear();
  EXPECT_TRUE(MigrateSchema(connection_, [&](const SchemaStep& step) {
                done.push_back(step.number);
              }).ok());
  EXPECT_TRUE(done.empty());
}

TEST_F(MigrationTest, StepsAreNumberedWithoutGaps) {
  int number = 0;
  for (const SchemaStep& step : SchemaSteps()) {
    EXPECT_EQ(step.number, ++number);
    EXPECT_LE(step.usable_from, step.number);
  }
}

TEST_F(MigrationTest, ATableThatWasDroppedIsNamed) {
  ASSERT_TRUE(MigrateSchema(connection_).ok());
  ASSERT_TRUE(connection_.RunScript("DROP SEQUENCE agent_graph.run_order").ok());
  for (const Status& status : {CheckTables(connection_), MigrateSchema(connection_)}) {
    EXPECT_EQ(status.code(), StatusCode::kNotConfigured);
    EXPECT_THAT(status.message(), HasSubstr("the database lacks agent_graph.run_order"));
  }
}

TEST_F(MigrationTest, TwoVersionsWorkSideBySide) {
  const std::span<const SchemaStep> ours = SchemaSteps();
  const std::span<const SchemaStep> next(later_.data(), ours.size() + 1);
  ASSERT_TRUE(MigrateSchema(connection_).ok());
  const Status older = CheckSchema(connection_, next);
  EXPECT_EQ(older.code(), StatusCode::kNotConfigured);
  EXPECT_THAT(older.message(), HasSubstr("have version " + std::to_string(ours.size())));
  ASSERT_TRUE(MigrateSchema(connection_, {}, next).ok());
  EXPECT_TRUE(CheckSchema(connection_, next).ok());
  EXPECT_TRUE(CheckSchema(connection_, ours).ok());
  ASSERT_TRUE(MigrateSchema(connection_, {}, later_).ok());
  const Status newer = CheckSchema(connection_, ours);
  EXPECT_EQ(newer.code(), StatusCode::kNotConfigured);
  EXPECT_THAT(newer.message(), HasSubstr("install a newer build"));
}

TEST_F(MigrationTest, AStepThatFailsLeavesNothing) {
  std::vector<SchemaStep> steps(SchemaSteps().begin(), SchemaSteps().end());
  steps.push_back({steps.back().number + 1, 1, "broken",
                   "CREATE TABLE agent_graph.added (id bigint); SELECT 1 / 0;"});
  EXPECT_FALSE(MigrateSchema(connection_, {}, steps).ok());
  Result<SchemaVersion> version = ReadSchemaVersion(connection_);
  ASSERT_TRUE(version.ok()) << version.status().ToString();
  EXPECT_EQ(version->number, SchemaSteps().back().number);
  Result<Rows> rows = connection_.Execute({"SELECT to_regclass('agent_graph.added') IS NULL"});
  ASSERT_TRUE(rows.ok());
  EXPECT_TRUE((*rows)[0].Bool(0));
}

TEST_F(MigrationTest, HostsThatMigrateAtTheSameTimeAllSucceed) {
  std::vector<Status> statuses(4);
  std::vector<std::thread> hosts;
  for (Status& status : statuses) {
    hosts.emplace_back([&] {
      Connection connection(Options());
      status = MigrateSchema(connection);
    });
  }
  for (std::thread& host : hosts) host.join();
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(CheckSchema(connection_).ok());
}

TEST_F(MigrationTest, ARoleWithoutRightsIsTold) {
  PostgresServer::Shared().Execute("postgres", "CREATE ROLE guest LOGIN");
  ConnectionOptions options = Options();
  options.url.replace(options.url.find("postgres@"), 9, "guest@");
  Connection guest(options);
  const Status denied = MigrateSchema(guest);
  EXPECT_EQ(denied.code(), StatusCode::kUnavailable);
  EXPECT_THAT(denied.detail(), HasSubstr("permission denied"));
}

}  // namespace
}  // namespace agent_graph::state::postgres
