// A migrated database of its own for each test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "postgres_server.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::state::postgres {

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() {
    const Status migrated = MigrateSchema(connection_);
    EXPECT_TRUE(migrated.ok()) << migrated.ToString();
  }

  ConnectionOptions Options() const {
    ConnectionOptions options;
    options.url = url_;
    options.backoff_min = options.backoff_max = std::chrono::milliseconds(1);
    return options;
  }
  // The same, for connections that may wait for each other's locks.
  ConnectionOptions Patient() const {
    ConnectionOptions options = Options();
    options.lock_timeout = options.statement_timeout = options.answer_timeout = kPatience;
    options.idle_in_transaction_timeout = kPatience;
    return options;
  }
  Rows Run(const Command& command) {
    Result<Rows> rows = connection_.Execute(command);
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    if (!rows.ok()) std::abort();
    return *std::move(rows);
  }
  // A number that a query returns.
  int64_t Number(const std::string& query) { return Run({query})[0].Bigint(0); }

  const std::string url_ = PostgresServer::Shared().CreateDatabase();
  Connection connection_{Options()};
};

}  // namespace agent_graph::state::postgres
