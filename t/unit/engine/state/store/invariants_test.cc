// Invariants of leases: a transition that breaks one ends the process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "../requests.h"
#include "state/leveldb/database/database.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

class LeaseDeathTest : public testing::Test {
 protected:
  LeaseDeathTest() : database_(LevelDatabase::OpenMemory().value()) {
    EXPECT_TRUE(store_.Load().ok());
    ClientHello hello;
    hello.client = "client";
    hello.process = getpid();
    store_.Connect(hello, 1);
    EXPECT_TRUE(store_.Grant(Begin("run")).ok());
  }

  static Waiter Begin(const std::string& run_id) {
    Waiter begin;
    begin.run = RunOn("t", "", run_id);
    begin.from.client = "client";
    return begin;
  }

  std::unique_ptr<LevelDatabase> database_;
  Store store_{*database_, StateOptions{.sync = SyncLevel::kNone}};
};

TEST_F(LeaseDeathTest, AThreadHasOneLeaseAtATime) {
  EXPECT_DEATH((void)store_.Grant(Begin("other")),
               "check failed: .*a thread has one lease at a time");
}

TEST_F(LeaseDeathTest, AThreadIsReservedWhileItHasNoLease) {
  EXPECT_DEATH((void)store_.Reserve(keys::ThreadKey{"", 1}, RunOn("t", "", "other"), kNoDeadline),
               "check failed: .*a thread is reserved while it has no lease");
}

TEST_F(LeaseDeathTest, EveryWaitingRunIsCounted) {
  store_.leases_.at("t").waiters.push_back(Begin("other"));
  EXPECT_DEATH(store_.EndLease("t"), "every waiting run is counted");
  EXPECT_DEATH(store_.CancelWaiters(store_.leases_.at("t"), Status(StatusCode::kCancelled, ""), ""),
               "every cancelled run is counted");
}

// As after a host has failed while it took over the runs of another one.
TEST_F(LeaseDeathTest, ARunThatWasNotCountedMayEnd) {
  store_.leases_.at("t").accepted = true;
  store_.EndLease("t");
  EXPECT_EQ(store_.clients_.at("client").runs_granted, 0U);
}

TEST_F(LeaseDeathTest, EveryGrantedRunIsCounted) {
  Lease& lease = store_.leases_.at("t");
  lease.accepted = true;
  lease.is_counted = true;
  EXPECT_DEATH(store_.CountGrant(lease, false), "every granted run is counted");
}

TEST_F(LeaseDeathTest, EveryGrantBeginsOnce) {
  Lease& lease = store_.leases_.at("t");
  lease.unbegun_bytes = 1;
  EXPECT_DEATH(store_.NoteBegun(lease), "every grant begins once");
}

}  // namespace
}  // namespace agent_graph::state
