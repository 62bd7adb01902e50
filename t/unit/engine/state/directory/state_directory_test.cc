#include "state/directory/state_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "../requests.h"
#include "state/factory/factory.h"

namespace agent_graph::state {
namespace {

TEST(StateDirectory, NumbersIncreaseWhenTheClockIsSetBack) {
  const TemporaryDirectory folder;
  const StateDirectory directory = StateDirectory::Create(folder.path()).value();
  EXPECT_EQ(directory.NextNumber(1000), 1000u);
  EXPECT_EQ(directory.NextNumber(900), 1001u);
  EXPECT_EQ(StateDirectory::Open(folder.path())->NextNumber(900), 1002u);
  EXPECT_EQ(directory.NextNumber(20000), 20000u);
  // It is not the lock that is written to.
  const FileDescriptor lock = directory.TryLock().value();
  EXPECT_EQ(directory.NextNumber(1), 20001u);
  EXPECT_TRUE(directory.IsServed());
}

// A client refuses a server with a lower epoch than that of the last one.
TEST(StateDirectory, EpochsOfMemoryIncreaseWhenTheClockIsSetBack) {
  const TemporaryDirectory folder;
  StateOptions options;
  options.directory = folder.path();
  options.type = "memory";
  constexpr uint64_t kFuture = 9'000'000'000'000'000;
  const StateDirectory directory = StateDirectory::Create(folder.path()).value();
  EXPECT_EQ(directory.NextNumber(kFuture), kFuture);
  const std::unique_ptr<Storage> storage = MakeStorage(options);
  EXPECT_EQ(storage->Open({}).value()->epoch(), kFuture + 1);
  EXPECT_EQ(storage->Open({}).value()->epoch(), kFuture + 2);
}

}  // namespace
}  // namespace agent_graph::state
