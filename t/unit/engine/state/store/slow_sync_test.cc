// A sync that takes long: clients are pinged meanwhile, and few replies wait for it in memory.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "executor_fixture.h"
#include "slow_database.h"

namespace agent_graph::state {
namespace {

class PingedClient : public ExecutorClient {
 public:
  void SendAll(std::vector<ClientMessage> messages) override {
    MutexLock lock(mutex_);
    for (const ClientMessage& message : messages) {
      if (std::holds_alternative<Ping>(message)) is_pinged_ = true;
    }
    changed_.NotifyAll();
  }
  void AwaitPing() {
    MutexLock lock(mutex_);
    while (!is_pinged_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool is_pinged_ AG_GUARDED_BY(mutex_) = false;
};

constexpr uint64_t kMarker = 1000;  // number of a request whose reply does not wait

class ReadingClient : public ExecutorClient {
 public:
  void SendAll(std::vector<ClientMessage> messages) override {
    MutexLock lock(mutex_);
    for (const ClientMessage& message : messages) {
      const Reply* const reply = std::get_if<Reply>(&message);
      if (reply == nullptr) continue;
      EXPECT_TRUE(reply->status.ok()) << reply->status.ToString();
      if (reply->sequence == kMarker) executed_before_marker_ = executed_;
      ++replies_;
    }
    changed_.NotifyAll();
  }
  void Executed(size_t bytes) override {
    ++executed_;
    ExecutorClient::Executed(bytes);
  }
  void AwaitReplies(size_t count) {
    MutexLock lock(mutex_);
    while (replies_ < count) changed_.Wait(mutex_);
  }
  size_t executed_before_marker() {
    MutexLock lock(mutex_);
    return executed_before_marker_;
  }

 private:
  std::atomic<size_t> executed_{0};
  Mutex mutex_;
  CondVar changed_;
  size_t replies_ AG_GUARDED_BY(mutex_) = 0;
  size_t executed_before_marker_ AG_GUARDED_BY(mutex_) = 0;
};

class SlowSyncTest : public ExecutorTest {};

TEST_F(SlowSyncTest, ClientsArePingedDuringIt) {
  auto owned = std::make_unique<SlowDatabase>();
  SlowDatabase& database = *owned;
  const auto client = std::make_shared<PingedClient>();
  Start(std::move(owned), client, /*answers_pings=*/true);
  Send(Operation::kBeginRun, RunOn("t"));
  Append("another");
  database.began.get_future().wait();
  client->AwaitPing();
  database.finish.set_value();
}

TEST_F(SlowSyncTest, ReadsOfMuchDataWaitForIt) {
  constexpr uint64_t kReads = 40;
  auto owned = std::make_unique<SlowDatabase>();
  SlowDatabase& database = *owned;
  const auto client = std::make_shared<ReadingClient>();
  Start(std::move(owned), client);
  PutStateRequest put = PutOn("t", "");
  put.fields_json = "{\"text\":\"" + std::string(size_t{4} * 1000 * 1000, 'x') + "\"}";
  Send(Operation::kPutState, put);
  database.began.get_future().wait();
  const auto execute = [&](uint64_t sequence, Operation operation, const auto& body) {
    executor_->Execute({client_, "client", {sequence, 0, operation, 1}, pack::ToBytes(body), 0});
  };
  for (uint64_t i = 1; i <= kReads; ++i) {
    execute(sent_ + i, Operation::kGetState, ThreadRequest{Scope::All(), "t"});
  }
  execute(kMarker, Operation::kPublishPiece,
          PublishPieceRequest{.thread_id = "t", .run_id = "r", .piece = {}});
  client->AwaitReplies(1);
  // 64 MiB of replies wait in memory, and one more for each thread that reads.
  EXPECT_LT(client->executed_before_marker(), kReads / 2 + 5);
  database.finish.set_value();
  client->AwaitReplies(kReads + 2);
}

}  // namespace
}  // namespace agent_graph::state
