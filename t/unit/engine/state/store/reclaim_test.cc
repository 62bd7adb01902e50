// Deletions on a full disk: their space is freed by compactions, which are repeated until there is
// some.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "executor_fixture.h"
#include "state/rows/transaction.h"
#include "wrapped_database.h"

namespace agent_graph::state {
namespace {

// A disk that is as full as the test says.
class FullDatabase : public WrappedDatabase {
 public:
  bool low_on_space() const override { return is_full_; }
  void Compact(const std::string& first, const std::string& last) override {
    WrappedDatabase::Compact(first, last);
    MutexLock lock(mutex_);
    ++compactions_[first[0]];
    changed_.NotifyAll();
  }
  void SetFull(bool is_full) { is_full_ = is_full; }
  // Waits until the range of every table, of which there must be some, was compacted `count` times.
  void AwaitCompactions(int count) {
    MutexLock lock(mutex_);
    const auto is_done = [&](const auto& table) { return table.second >= count; };
    while (compactions_.empty() || !std::ranges::all_of(compactions_, is_done)) {
      changed_.Wait(mutex_);
    }
  }
  void ForgetCompactions() {
    MutexLock lock(mutex_);
    compactions_.clear();
  }

 private:
  std::atomic<bool> is_full_{false};
  Mutex mutex_;
  CondVar changed_;
  std::map<char, int> compactions_ AG_GUARDED_BY(mutex_);  // by the first byte of the keys
};

class ReclaimTest : public ExecutorTest {
 protected:
  void SetUp() override {
    auto database = std::make_unique<FullDatabase>();
    database_ = database.get();
    Start(std::move(database), std::make_shared<ExecutorClient>());
  }
  void Delete(const std::string& thread_id) {
    Send(Operation::kDeleteThread, ThreadRequest{Scope::All(), thread_id});
  }

  FullDatabase* database_ = nullptr;
};

TEST_F(ReclaimTest, CompactsAllRangesAgainWhileTheDiskIsFull) {
  Append("t");
  database_->SetFull(true);
  Delete("t");
  database_->AwaitCompactions(3);
}

TEST_F(ReclaimTest, CompactsWhatWasDeletedBeforeTheDiskWasFullAgain) {
  Append("t1");
  Append("t2");
  database_->SetFull(true);
  Delete("t1");
  database_->AwaitCompactions(1);
  database_->SetFull(false);
  Delete("t2");
  database_->ForgetCompactions();
  database_->SetFull(true);
  database_->AwaitCompactions(1);
}

TEST(DeletedRowsTest, AreNotedUntilSomeTimeAfterTheDiskWasFull) {
  FullDatabase database;
  Transaction transaction(database, {});
  const auto remove = [&](const std::string& key) {
    transaction.Delete(key);
    transaction.Accept(/*sync=*/false);
    ASSERT_TRUE(transaction.Commit().ok());
  };
  remove("a");
  EXPECT_TRUE(transaction.TakeDeletedRanges().empty());
  database.SetFull(true);
  remove("k1");
  database.SetFull(false);
  remove("k2");
  const KeyRanges ranges = transaction.TakeDeletedRanges();
  ASSERT_EQ(ranges.by_table().size(), 1u);
  EXPECT_EQ(ranges.by_table().at('k').first, "k1");
  EXPECT_EQ(ranges.by_table().at('k').last, "k2");
}

}  // namespace
}  // namespace agent_graph::state
