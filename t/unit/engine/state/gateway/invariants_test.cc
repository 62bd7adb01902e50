// Invariants of connections and of the state server's role: a transition that breaks one ends the
// process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "../requests.h"
#include "state/factory/factory.h"
#include "state/gateway/role.h"
#include "state/gateway/server.h"

namespace agent_graph::state {
namespace {

TEST(ConnectionDeathTest, ARequestIsExecutedOnce) {
  Connection connection(1, FileDescriptor(), -1, getpid());
  connection.Enqueued(10);
  connection.Executed(10);
  EXPECT_DEATH(connection.Executed(1), "a request is executed once");
}

class RoleDeathTest : public testing::Test {
 protected:
  static StateOptions Options(const std::string& directory) {
    StateOptions options;
    options.directory = directory;
    options.type = "memory";
    return options;
  }

  TemporaryDirectory directory_;
  Role role_{Options(directory_.path()), StateDirectory::Create(directory_.path()).value(),
             MakeStorage(Options(directory_.path()))};
};

TEST_F(RoleDeathTest, OnlyTheHolderOfTheLockOpensTheData) {
  EXPECT_DEATH((void)role_.Lead(), "only the holder of the lock opens the stored data");
}

TEST_F(RoleDeathTest, OnlyTheHolderOfTheLockAnswers) {
  EXPECT_DEATH(role_.ServeFailure(std::chrono::milliseconds(1)),
               "only the holder of the lock answers");
}

TEST_F(RoleDeathTest, ServesOnceAtATime) {
  role_.lock_ = role_.directory_.TryLock().value();
  role_.serving_ = true;
  EXPECT_DEATH((void)role_.Lead(), "a role serves once at a time");
}

TEST_F(RoleDeathTest, EndsAfterItHasServed) {
  role_.serving_ = true;
  role_.finishing_ = true;
  EXPECT_DEATH(role_.Run(), "a role ends after it has served");
}

}  // namespace
}  // namespace agent_graph::state
