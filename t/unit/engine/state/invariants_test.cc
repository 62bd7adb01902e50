// Invariants of leases and of the state server's role: a transition that breaks one ends the
// process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "fixture.h"
#include "state/leveldb/store.h"
#include "state/owner/role.h"
#include "state/owner/server.h"

namespace agent_graph::state {
namespace {

class LeaseDeathTest : public testing::Test {
 protected:
  LeaseDeathTest() : database_(Database::OpenMemory().value()) {
    EXPECT_TRUE(store_.Load().ok());
    wire::Hello hello;
    hello.client = "client";
    hello.process = getpid();
    store_.Connect(hello, 1);
    EXPECT_TRUE(store_.Grant(Begin("run")).ok());
  }

  static Store::Waiter Begin(const std::string& run_id) {
    Store::Waiter begin;
    begin.run = RunOn("t", "", run_id);
    begin.from.client = "client";
    return begin;
  }

  std::unique_ptr<Database> database_;
  Store store_{*database_, SyncLevel::kNone, std::chrono::seconds(0)};
};

TEST_F(LeaseDeathTest, AThreadHasOneLeaseAtATime) {
  EXPECT_DEATH((void)store_.Grant(Begin("other")),
               "check failed: .*a thread has one lease at a time");
}

TEST_F(LeaseDeathTest, EveryWaitingRunIsCounted) {
  store_.leases_.at("t").waiters.push_back(Begin("other"));
  EXPECT_DEATH(store_.EndLease("t"), "every waiting run is counted");
  EXPECT_DEATH(store_.CancelWaiters(store_.leases_.at("t"), Status(StatusCode::kCancelled, ""), ""),
               "every waiting run is counted");
}

TEST(ConnectionDeathTest, ARequestIsExecutedOnce) {
  Connection connection(1, FileDescriptor(), -1, getpid());
  connection.Enqueued(10);
  connection.Executed(10);
  EXPECT_DEATH(connection.Executed(1), "a request is executed once");
}

class RoleDeathTest : public testing::Test {
 protected:
  static OwnerOptions Options(const std::string& directory) {
    OwnerOptions options;
    options.directory = directory;
    options.type = OwnerOptions::Type::kMemory;
    return options;
  }

  TemporaryDirectory directory_;
  Role role_{Options(directory_.path()), StateDirectory::Create(directory_.path()).value()};
};

TEST_F(RoleDeathTest, OnlyTheHolderOfTheLockOpensTheDatabase) {
  EXPECT_DEATH((void)role_.Reign(), "only the holder of the lock opens the database");
}

TEST_F(RoleDeathTest, OnlyTheHolderOfTheLockAnswers) {
  EXPECT_DEATH(role_.ServeFailure(), "only the holder of the lock answers");
}

TEST_F(RoleDeathTest, ThereIsOneReignAtATime) {
  role_.lock_ = role_.directory_.TryLock().value();
  role_.owning_ = true;
  EXPECT_DEATH((void)role_.Reign(), "one reign at a time");
}

TEST_F(RoleDeathTest, ARoleEndsAfterItsReign) {
  role_.owning_ = true;
  role_.finishing_ = true;
  EXPECT_DEATH(role_.Run(), "a role ends after its reign");
}

}  // namespace
}  // namespace agent_graph::state
