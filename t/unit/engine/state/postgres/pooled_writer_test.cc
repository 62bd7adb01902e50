// A writer whose server process has settings of another session, as behind a pooler in transaction
// mode.
#include <gtest/gtest.h>

#include <string>

#include "host_store.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class PooledWriterTest : public postgres::DatabaseTest {
 protected:
  PooledWriterTest() {
    // Records the settings of each transaction that stores a message, and then spoils those of its
    // session.
    Run({"CREATE TABLE seen (settings text)"});
    Run(
        {"CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
         "INSERT INTO seen VALUES (concat_ws(' ', current_setting('synchronous_commit'), "
         "current_setting('lock_timeout'), current_setting('statement_timeout'), "
         "current_setting('idle_in_transaction_session_timeout'))); "
         "PERFORM set_config('synchronous_commit', 'off', false), "
         "set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false), "
         "set_config('idle_in_transaction_session_timeout', '0', false); RETURN NEW; END $$"});
    Run(
        {"CREATE TRIGGER spoil AFTER INSERT ON agent_graph.message FOR EACH ROW EXECUTE FUNCTION "
         "spoil()"});
  }
};

TEST_F(PooledWriterTest, ItsTransactionsHaveTheirOwnSettings) {
  HostStore host(Options());
  // On a new thread the writer reads before it writes; then it knows the thread.
  host.RunTurn("t", {UserMessage("m1")});
  host.RunTurn("t", {UserMessage("m2")});
  host.RunTurn("u", {UserMessage("m3")});
  EXPECT_EQ(Number("SELECT count(*) FROM seen"), 3);
  EXPECT_EQ(Number("SELECT count(*) FROM seen WHERE settings = 'on 2s 5s 2s'"), 3);
}

}  // namespace
}  // namespace agent_graph::state
