// A host that fails while it takes over the runs of another one.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "../conformance/grants.h"
#include "../fixture.h"
#include "hosts_fixture.h"
#include "state/rows/keys.h"

namespace agent_graph::state {
namespace {

constexpr int kRuns = 100;  // more than one batch takes over

class FailedTakeoverTest : public HostsTest {
 protected:
  // Leases whose runs are said to wait at another instance than the one that has the lease.
  int64_t DividedRuns() {
    const auto rows = other_.Execute(
        {"SELECT count(*) FROM agent_graph.lease l JOIN agent_graph.thread t ON t.key = l.thread "
         "JOIN agent_graph.run_request r ON r.key > $1::bytea || t.place AND "
         "r.key < $1::bytea || t.place || '\\xff'::bytea WHERE l.instance <> r.instance",
         {postgres::Value::Bytes(keys::TablePrefix(keys::Table::kRunRequest))}});
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    return rows.ok() ? (*rows)[0].Bigint(0) : -1;
  }

  postgres::Connection other_{{.url = url_, .idle_in_transaction_timeout = kPatience}};
};

TEST_F(FailedTakeoverTest, TheRunsThatItHasTakenAlreadyContinue) {
  Grants at_a;
  Grants at_b;
  Client& worker_a = a_.Connect(at_a.Receiver());
  Client& worker_b = b_.Connect(at_b.Receiver());
  for (int i = 0; i < kRuns; ++i) {
    ASSERT_TRUE(worker_a.AcceptRun(Accepted(Numbered("t", i), "r")).ok());
    at_a.Next();
  }
  // The lock of the last thread holds up the last batch.
  other_.Begin();
  ASSERT_TRUE(other_
                  .Execute({"SELECT 1 FROM agent_graph.lease WHERE thread = $1 FOR UPDATE",
                            {postgres::Value::Bytes(keys::Thread(Numbered("t", kRuns - 1)))}})
                  .ok());
  a_.Kill();
  const GrantedRun granted = at_b.Next();
  b_.Kill();
  EXPECT_EQ(DividedRuns(), 0);
  other_.Rollback();

  b_.StartAgain();
  BeginRunReply begun;
  begun.lease_epoch = granted.lease_epoch;
  EXPECT_TRUE(worker_b.FinishRun(FinishOf(RunOn(granted.thread_id, "", "r"), begun)).ok());
  std::set<std::string> threads{granted.thread_id};
  while (threads.size() < kRuns && !HasFailure()) threads.insert(at_b.Next().thread_id);
  EXPECT_EQ(threads.size(), static_cast<size_t>(kRuns));
}

}  // namespace
}  // namespace agent_graph::state
