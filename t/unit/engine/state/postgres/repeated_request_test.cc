// A request that a worker sends again, because its host was declared dead before it could answer.
#include <gtest/gtest.h>

#include <string>

#include "host_store.h"
#include "state/runs.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class RepeatedRequestTest : public postgres::DatabaseTest {
 protected:
  static AcceptRunRequest RequestOn(const std::string& thread_id, const std::string& creation_id) {
    AcceptRunRequest accept;
    accept.begin = RunOn(thread_id, "", "r");
    accept.begin.creation_id = creation_id;
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    return accept;
  }
  // The thread and the run of a reply.
  static std::string RunOf(const StoreReply& reply) {
    AcceptRunReply accepted;
    if (!reply.status.ok()) return reply.status.ToString();
    EXPECT_TRUE(pack::FromBytes(reply.reply.body, accepted));
    EXPECT_EQ(accepted.outcome, AcceptRunReply::Outcome::kAccepted);
    return accepted.run.thread_id + " " + accepted.run.run_id;
  }
  void DeclareDead(const HostStore& host) {
    Run({"UPDATE agent_graph.instance SET dead = true, ended = now() WHERE id = $1",
         {postgres::Value::Uuid(host.instance())}});
  }

  HostStore a_{Options()};
  HostStore b_{Options(), /*takes_runs=*/true};
};

TEST_F(RepeatedRequestTest, TheThreadAndTheRunThatItBeganAreItsAnswer) {
  AcceptRunRequest accept = RequestOn("t", "creation");
  accept.begin.new_thread_only = true;
  a_.Execute(Operation::kAcceptRun, accept);  // the reply is lost
  DeclareDead(a_);
  b_.TakeOver(a_.instance());
  b_.Commit();
  HostStore again(Options());
  EXPECT_EQ(RunOf(again.Execute(Operation::kAcceptRun, accept)), "t r");
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.run"), 1);
  // Another request cannot have the thread.
  accept.begin.creation_id = "other";
  EXPECT_EQ(again.Execute(Operation::kAcceptRun, accept).status.code(), StatusCode::kConflict);
}

TEST_F(RepeatedRequestTest, OnAThreadThatExistsAsLongAsTheRunHasNotEnded) {
  b_.RunTurn("t", {UserMessage("m1")});
  const AcceptRunRequest accept = RequestOn("t", "creation");
  a_.Execute(Operation::kAcceptRun, accept);
  DeclareDead(a_);
  b_.TakeOver(a_.instance());
  b_.Commit();
  HostStore again(Options());
  EXPECT_EQ(RunOf(again.Execute(Operation::kAcceptRun, accept)), "t r");
  EXPECT_EQ(again.Execute(Operation::kAcceptRun, RequestOn("t", "other")).status.code(),
            StatusCode::kConflict);
}

}  // namespace
}  // namespace agent_graph::state
