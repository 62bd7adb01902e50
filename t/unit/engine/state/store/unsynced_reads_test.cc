// No reply acknowledges or shows a change that is not on the disk.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../requests.h"
#include "base/mutex.h"
#include "state/store/executor.h"
#include "wrapped_database.h"

namespace agent_graph::state {
namespace {

// A database in memory whose sync takes as long as the test wants.
class SlowDatabase : public WrappedDatabase {
 public:
  bool syncs_later() const override { return true; }
  Status SyncWritten() override {
    if (is_synced) return Status::Ok();
    began.set_value();
    finish.get_future().wait();
    is_synced = true;
    return Status::Ok();
  }

  std::promise<void> began;  // the first sync
  std::promise<void> finish;
  std::atomic<bool> is_synced{false};
};

class Client : public ClientConnection {
 public:
  explicit Client(const SlowDatabase& database) : database_(database) {}

  uint64_t id() const override { return 1; }
  void SendAll(std::vector<ClientMessage> messages) override {
    MutexLock lock(mutex_);
    for (const ClientMessage& message : messages) {
      const Reply* const reply = std::get_if<Reply>(&message);
      if (reply == nullptr) continue;
      EXPECT_TRUE(reply->status.ok()) << reply->status.ToString();
      EXPECT_TRUE(database_.is_synced) << "reply " << reply->sequence << " came too early";
      ++replies_;
      changed_.NotifyAll();
    }
  }
  void Executed(size_t) override {
    MutexLock lock(mutex_);
    ++executed_;
    changed_.NotifyAll();
  }

  void AwaitReplies(int count) {
    MutexLock lock(mutex_);
    while (replies_ < count) changed_.Wait(mutex_);
  }
  // The replies of executed reads have been sent, or wait.
  void AwaitExecuted(int count) {
    MutexLock lock(mutex_);
    while (executed_ < count) changed_.Wait(mutex_);
  }

 private:
  const SlowDatabase& database_;
  Mutex mutex_;
  CondVar changed_;
  int replies_ AG_GUARDED_BY(mutex_) = 0;
  int executed_ AG_GUARDED_BY(mutex_) = 0;
};

TEST(UnsyncedReadsTest, AReadWaitsForTheSyncOfWhatItMayShow) {
  auto owned = std::make_unique<SlowDatabase>();
  SlowDatabase& database = *owned;
  StoreExecutorOptions options;
  options.epoch = 1;
  options.on_failed = [] {};
  StoreExecutor executor(std::move(owned), std::move(options));
  ASSERT_TRUE(executor.Start().ok());
  auto client = std::make_shared<Client>(database);
  ClientHello hello;
  hello.client = "client";
  hello.process = getpid();
  executor.Connect(client, hello);
  const auto send = [&](uint64_t sequence, Operation operation, const auto& body) {
    executor.Execute({client, "client", {sequence, 0, operation, 1}, pack::ToBytes(body), 0});
  };
  send(1, Operation::kAppendMessages,
       MessagesOn("t", "", {{"m", 0, R"({"role":"user","content":"hello"})"}}));
  database.began.get_future().wait();
  client->AwaitExecuted(1);
  send(2, Operation::kGetThread, ThreadRequest{Scope::All(), "t"});
  client->AwaitExecuted(2);
  database.finish.set_value();
  client->AwaitReplies(2);
  executor.Stop();
}

}  // namespace
}  // namespace agent_graph::state
