// Mistakes of a connection's caller end the process.
#include <gtest/gtest.h>

#include "../postgres_server.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {
namespace {

class ConnectionMisuseTest : public testing::Test {
 protected:
  static ConnectionOptions Options() {
    ConnectionOptions options;
    options.url = PostgresServer::Shared().CreateDatabase();
    return options;
  }
  void BeginAndFail() {
    connection_.Begin();
    EXPECT_FALSE(connection_.Execute({"SELECT 1 / 0"}).ok());
  }

  Connection connection_{Options()};
};

TEST_F(ConnectionMisuseTest, TransactionsHaveAnOrder) {
  EXPECT_DEATH((void)connection_.Commit(), "only a transaction is committed");
  EXPECT_DEATH(connection_.Rollback(), "only a transaction is rolled back");
  EXPECT_DEATH((void)connection_.ExecuteAll({}), "an exchange has commands");
  connection_.Begin();
  EXPECT_DEATH(connection_.Begin(), "transactions are not nested");
  EXPECT_DEATH((void)connection_.ExecuteEach({{"SELECT 1"}}),
               "each command is a transaction of its own");
  EXPECT_DEATH((void)connection_.RunScript("SELECT 1"), "a script is a transaction of its own");
}

TEST_F(ConnectionMisuseTest, AFailedTransactionIsOnlyRolledBack) {
  BeginAndFail();
  EXPECT_DEATH((void)connection_.Execute({"SELECT 1"}), "a failed transaction executes nothing");
  EXPECT_DEATH((void)connection_.Commit(), "a failed transaction is not committed");
}

TEST_F(ConnectionMisuseTest, RowsAreReadAsTheyAre) {
  const Result<Rows> rows = connection_.Execute({"SELECT 1::integer"});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_DEATH((void)(*rows)[1], "a row is read that the statement has returned");
  EXPECT_DEATH((void)(*rows)[0].Bigint(0),
               "a column is read as the type that its statement returns");
}

TEST(MembershipMisuseTest, AnInstanceBeatsAfterItHasJoined) {
  Membership host{MembershipOptions()};
  EXPECT_DEATH((void)host.Beat(), "only an instance that has joined beats");
}

}  // namespace
}  // namespace agent_graph::state::postgres
