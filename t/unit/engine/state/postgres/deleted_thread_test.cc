// Hosts that wait for the lease row of a thread while another host deletes the thread.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "host_store.h"
#include "state/rows/keys.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class DeletedThreadTest : public postgres::DatabaseTest {
 protected:
  // The thread exists, and `deleter_` has locked it.
  DeletedThreadTest() {
    a_.RunTurn("t", {UserMessage("m1")});
    deleter_.Begin();
    Delete("SELECT 1 FROM agent_graph.lease WHERE thread = $1 FOR UPDATE");
  }
  void Delete(const std::string& text) {
    const auto rows = deleter_.Execute({text, {postgres::Value::Bytes(keys::Thread("t"))}});
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
  }
  void FinishDeletion() {
    Delete("DELETE FROM agent_graph.thread WHERE key = $1");
    Delete("DELETE FROM agent_graph.lease WHERE thread = $1");
    EXPECT_TRUE(deleter_.Commit().ok());
  }
  void AwaitLocks(int64_t count) {
    while (Number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                  "wait_event_type = 'Lock'") < count) {
      std::this_thread::yield();
    }
  }
  void Accept(HostStore& host, const std::string& run_id) {
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", run_id);
    EXPECT_TRUE(host.Execute(Operation::kAcceptRun, accept).status.ok());
  }

  HostStore a_{Patient()};
  HostStore b_{Patient()};
  HostStore c_{Patient()};
  postgres::Connection deleter_{Patient()};
};

TEST_F(DeletedThreadTest, AHostThatMakesItAgainHasALock) {
  std::thread waiting([this] { b_.Execute(Operation::kPutState, PutOn("t", "")); });
  AwaitLocks(1);
  FinishDeletion();
  waiting.join();
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.thread JOIN agent_graph.lease "
                   "ON lease.thread = thread.key"),
            1);
}

TEST_F(DeletedThreadTest, TwoHostsMakeItOnce) {
  std::thread one([this] { Accept(b_, "b"); });
  std::thread other([this] { Accept(c_, "c"); });
  AwaitLocks(2);
  FinishDeletion();
  one.join();
  other.join();
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.run_request JOIN agent_graph.thread ON "
                   "substr(run_request.key, 2, octet_length(place)) = place"),
            2);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.lease WHERE lease_key IS NOT NULL"), 1);
}

// An earlier version could leave a thread without a lease row.
TEST_F(DeletedThreadTest, AThreadWithoutALeaseRowGetsOne) {
  Delete("DELETE FROM agent_graph.lease WHERE thread = $1");
  EXPECT_TRUE(deleter_.Commit().ok());
  const StoreReply removed =
      b_.Execute(Operation::kDeleteMessage, MessageRequest{Scope::All(), "t", "m1"});
  EXPECT_TRUE(removed.status.ok()) << removed.status.ToString();
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.lease"), 1);
  const StoreReply deleted =
      c_.Execute(Operation::kDeleteThread, ThreadRequest{Scope::All(), "none"});
  EXPECT_EQ(deleted.status.code(), StatusCode::kNotFound);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.lease"), 1);
}

}  // namespace
}  // namespace agent_graph::state
