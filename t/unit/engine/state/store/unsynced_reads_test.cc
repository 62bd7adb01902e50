// No reply acknowledges or shows a change that is not on the disk.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "executor_fixture.h"
#include "slow_database.h"

namespace agent_graph::state {
namespace {

// Replies to the requests before `first_waiting` may come at any time.
class Client : public ExecutorClient {
 public:
  explicit Client(const SlowDatabase& database, uint64_t first_waiting = 1)
      : database_(database), first_waiting_(first_waiting) {}

  void SendAll(std::vector<ClientMessage> messages) override {
    MutexLock lock(mutex_);
    for (const ClientMessage& message : messages) {
      const Reply* const reply = std::get_if<Reply>(&message);
      if (reply == nullptr) continue;
      EXPECT_TRUE(reply->status.ok()) << reply->status.ToString();
      EXPECT_TRUE(database_.is_synced || reply->sequence < first_waiting_)
          << "reply " << reply->sequence << " came too early";
      ++replies_;
      changed_.NotifyAll();
    }
  }

  void AwaitReplies(int count) {
    MutexLock lock(mutex_);
    while (replies_ < count) changed_.Wait(mutex_);
  }

 private:
  const SlowDatabase& database_;
  const uint64_t first_waiting_;
  Mutex mutex_;
  CondVar changed_;
  int replies_ AG_GUARDED_BY(mutex_) = 0;
};

class FailingDatabase : public WrappedDatabase {
 public:
  bool syncs_later() const override { return true; }
  Status SyncWritten() override { return {StatusCode::kUnavailable, "the disk is away"}; }
};

// Expects that every request is refused.
class RefusedClient : public ExecutorClient {
 public:
  void SendAll(std::vector<ClientMessage> messages) override {
    MutexLock lock(mutex_);
    for (const ClientMessage& message : messages) {
      const Reply* const reply = std::get_if<Reply>(&message);
      if (reply == nullptr) continue;
      EXPECT_FALSE(reply->status.ok());
      is_refused_ = true;
      changed_.NotifyAll();
    }
  }
  void AwaitRefusal() {
    MutexLock lock(mutex_);
    while (!is_refused_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool is_refused_ AG_GUARDED_BY(mutex_) = false;
};

class UnsyncedReadsTest : public ExecutorTest {};

// The reply to this change is read after the sync.
TEST_F(UnsyncedReadsTest, AChangeOfTheStateIsRefusedIfItsSyncFails) {
  const auto client = std::make_shared<RefusedClient>();
  Start(std::make_unique<FailingDatabase>(), client);
  PutStateRequest put = PutOn("t", "");
  put.fields_json = R"({"a":1})";
  Send(Operation::kPutState, put);
  client->AwaitRefusal();
}

TEST_F(UnsyncedReadsTest, AReadWaitsForTheSyncOfWhatItMayShow) {
  auto owned = std::make_unique<SlowDatabase>();
  SlowDatabase& database = *owned;
  const auto client = std::make_shared<Client>(database);
  Start(std::move(owned), client);
  Append("t");
  database.began.get_future().wait();
  Send(Operation::kGetThread, ThreadRequest{Scope::All(), "t"});
  database.finish.set_value();
  client->AwaitReplies(2);
}

// The write thread has loaded this reply already when it is held.
TEST_F(UnsyncedReadsTest, ARunThatWaitedFollowsTheSyncOfTheEndBeforeIt) {
  auto owned = std::make_unique<SlowDatabase>();
  SlowDatabase& database = *owned;
  const auto client = std::make_shared<Client>(database, /*first_waiting=*/2);
  Start(std::move(owned), client);
  const BeginRunRequest first = RunOn("t");
  Send(Operation::kBeginRun, first);
  client->AwaitReplies(1);
  BeginRunRequest second = RunOn("t");
  second.enqueue_if_busy = true;
  second.wait_ms_max = std::chrono::milliseconds(kPatience).count();
  Send(Operation::kBeginRun, second);
  BeginRunReply begun;
  begun.lease_epoch = 1;
  Send(Operation::kFinishRun, FinishOf(first, begun));
  database.began.get_future().wait();
  database.finish.set_value();
  client->AwaitReplies(3);
}

}  // namespace
}  // namespace agent_graph::state
