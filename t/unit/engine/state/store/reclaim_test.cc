// Deletions on a full disk: the space is freed by compactions, which are repeated until there is
// some.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../requests.h"
#include "base/mutex.h"
#include "state/rows/transaction.h"
#include "state/store/executor.h"
#include "wrapped_database.h"

namespace agent_graph::state {
namespace {

// Has space again after `kCompactions` compactions.
class FullDatabase : public WrappedDatabase {
 public:
  static constexpr int kCompactions = 3;

  bool low_on_space() const override { return is_full_; }
  void Compact(const std::string& first, const std::string& last) override {
    WrappedDatabase::Compact(first, last);
    MutexLock lock(mutex_);
    if (++compactions_ < kCompactions) return;
    is_full_ = false;
    changed_.NotifyAll();
  }
  void Fill() { is_full_ = true; }
  void Empty() { is_full_ = false; }
  void AwaitSpace() {
    MutexLock lock(mutex_);
    while (is_full_) changed_.Wait(mutex_);
  }

 private:
  std::atomic<bool> is_full_{false};
  Mutex mutex_;
  CondVar changed_;
  int compactions_ AG_GUARDED_BY(mutex_) = 0;
};

class Client : public ClientConnection {
 public:
  uint64_t id() const override { return 1; }
  void SendAll(std::vector<ClientMessage>) override {}
  void Executed(size_t) override {
    MutexLock lock(mutex_);
    ++executed_;
    changed_.NotifyAll();
  }
  void AwaitExecuted(int count) {
    MutexLock lock(mutex_);
    while (executed_ < count) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int executed_ AG_GUARDED_BY(mutex_) = 0;
};

TEST(ReclaimTest, CompactsAgainWhileTheDiskIsFull) {
  auto owned = std::make_unique<FullDatabase>();
  FullDatabase& database = *owned;
  StoreExecutorOptions options;
  options.epoch = 1;
  options.on_failed = [] {};
  StoreExecutor executor(std::move(owned), std::move(options));
  ASSERT_TRUE(executor.Start().ok());
  auto client = std::make_shared<Client>();
  ClientHello hello;
  hello.client = "client";
  hello.process = getpid();
  executor.Connect(client, hello);
  const auto send = [&](uint64_t sequence, Operation operation, const auto& body) {
    executor.Execute({client, "client", {sequence, 0, operation, 1}, pack::ToBytes(body), 0});
  };
  send(1, Operation::kAppendMessages,
       MessagesOn("t", "", {{"m", 0, R"({"role":"user","content":"hello"})"}}));
  client->AwaitExecuted(1);
  database.Fill();
  send(2, Operation::kDeleteThread, ThreadRequest{Scope::All(), "t"});
  database.AwaitSpace();
  executor.Stop();
}

TEST(ReclaimTest, NotesDeletionsUntilSomeTimeAfterTheDiskWasFull) {
  FullDatabase database;
  Transaction transaction(database, {});
  const auto remove = [&](const std::string& key) {
    transaction.Delete(key);
    transaction.Accept(/*sync=*/false);
    ASSERT_TRUE(transaction.Commit().ok());
  };
  remove("a");
  EXPECT_TRUE(transaction.TakeDeletedRanges().empty());
  database.Fill();
  remove("k1");
  database.Empty();
  remove("k2");
  const std::vector<std::pair<std::string, std::string>> ranges = transaction.TakeDeletedRanges();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].first, "k1");
  EXPECT_EQ(ranges[0].second, "k2");
}

}  // namespace
}  // namespace agent_graph::state
