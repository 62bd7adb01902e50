// Two hosts that take over the runs of a third one at the same time.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "host_store.h"
#include "state/runs.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class TwoTakeoversTest : public postgres::DatabaseTest {
 protected:
  std::string InstanceOfRequest() {
    return Run({"SELECT instance FROM agent_graph.run_request"})[0].Uuid(0);
  }
  void AwaitLock() {
    while (Number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                  "wait_event_type = 'Lock'") == 0) {
      std::this_thread::yield();
    }
  }

  HostStore a_{Patient()};
  HostStore b_{Patient()};
  HostStore c_{Patient()};
};

TEST_F(TwoTakeoversTest, ARunThatWaitsBelongsToTheFirst) {
  // The run of `b` holds the thread, so that the accepted one waits at `a`.
  b_.Execute(Operation::kBeginRun, RunOn("t", "", "holder"));
  AcceptRunRequest accept;
  accept.begin = RunOn("t", "", "r");
  EXPECT_TRUE(a_.Execute(Operation::kAcceptRun, accept).status.ok());
  ASSERT_EQ(InstanceOfRequest(), a_.instance());
  Run({"UPDATE agent_graph.instance SET dead = true, ended = now() WHERE id = $1",
       {postgres::Value::Uuid(a_.instance())}});

  b_.TakeOver(a_.instance());
  // Finds the run as one of `a`, and waits for the lock of its thread.
  std::thread second([this] { c_.TakeOver(a_.instance()); });
  AwaitLock();
  b_.Commit();
  second.join();
  c_.Commit();
  EXPECT_EQ(InstanceOfRequest(), b_.instance());
}

}  // namespace
}  // namespace agent_graph::state
