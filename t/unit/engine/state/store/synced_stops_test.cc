// A run that was asked to stop must not be executed after a power cut: stops are synced.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/store.h"
#include "wrapped_database.h"

namespace agent_graph::state {
namespace {

// Records how the last write reached the disk.
class RecordingDatabase : public WrappedDatabase {
 public:
  Status WriteRows(RowBatch& batch, WriteSync sync) override {
    last_sync = sync;
    return WrappedDatabase::WriteRows(batch, sync);
  }

  WriteSync last_sync = WriteSync::kNone;
};

class SyncedStopsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_.Load().ok());
    store_.Connect({.client = "client", .process = getpid()}, 1);
    (void)store_.Commit();
    // Waits for a worker.
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", "accepted");
    Send(Operation::kAcceptRun, accept);
  }
  template <typename Body>
  StoreReply Send(Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    const uint64_t sequence = ++sequence_;
    store_.Apply({"client", 1, sequence}, {sequence, 0, operation, UnixMicros()}, unpacker);
    Result<std::vector<StoreReply>> replies = store_.Commit();
    EXPECT_TRUE(replies.ok() && !replies->empty());
    return replies.ok() && !replies->empty() ? replies->front() : StoreReply();
  }

  StateOptions options_ = {.sync = SyncLevel::kRun};
  RecordingDatabase database_;
  Store store_{database_, options_};
  uint64_t sequence_ = 0;
};

TEST_F(SyncedStopsTest, AsAClientRequestsThem) {
  const StoreReply reply =
      Send(Operation::kRequestStop, StopRequest{Scope::All(), "t", true, "accepted"});
  EXPECT_TRUE(reply.status.ok());
  EXPECT_FALSE(reply.before_sync);
  EXPECT_EQ(database_.last_sync, WriteSync::kNow);
}

TEST_F(SyncedStopsTest, OfTheRunThatAnotherOneInterrupts) {
  BeginRunRequest run = RunOn("t", "", "next");
  run.interrupt_if_busy = true;
  Send(Operation::kBeginRun, run);
  EXPECT_EQ(database_.last_sync, WriteSync::kNow);
}

TEST_F(SyncedStopsTest, ARunThatWaitsIsNotSynced) {
  Send(Operation::kBeginRun, RunOn("t", "", "next"));
  EXPECT_EQ(database_.last_sync, WriteSync::kNone);
}

}  // namespace
}  // namespace agent_graph::state
