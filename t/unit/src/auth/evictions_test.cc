#include "auth/evictions.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "agent_graph/json.h"

namespace agent_graph::auth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An Evict call does not return until the test permits it.
class Reluctant : public AuthorizationBackend {
 public:
  bool Authorize(const json&, const std::string&, const std::string&,
                 const std::optional<std::string>&, const json&) override {
    return true;
  }
  void Evict(const std::string& thread_id) override {
    std::unique_lock lock(mutex_);
    ++told_[thread_id];
    most_at_work_ = std::max(most_at_work_, ++at_work_);
    changed_.notify_all();
    changed_.wait(lock, [&] { return let_; });
    --at_work_;
  }

  void AwaitAtWork(size_t calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return at_work_ == calls; });
  }
  void Let() {
    std::lock_guard lock(mutex_);
    let_ = true;
    changed_.notify_all();
  }
  size_t most_at_work() {
    std::lock_guard lock(mutex_);
    return most_at_work_;
  }
  std::map<std::string, int> told() {
    std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> told_;
  size_t at_work_ = 0;
  size_t most_at_work_ = 0;
  bool let_ = false;
};

class EvictionsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(runtime_.Start().ok()); }

  // Keeps the maximum number of calls busy.
  void Occupy() {
    for (size_t i = 0; i < Evictions::kAtOnce; ++i) evictions_->Add("busy" + std::to_string(i));
    backend_->AwaitAtWork(Evictions::kAtOnce);
  }
  void Finish() {
    backend_->Let();
    EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
    EXPECT_EQ(backend_->most_at_work(), Evictions::kAtOnce);
  }
  std::vector<std::string> warnings() {
    std::lock_guard lock(mutex_);
    return warnings_;
  }

  std::mutex mutex_;
  std::vector<std::string> warnings_;
  runtime::Runtime runtime_{runtime::RuntimeOptions()};
  const std::shared_ptr<Reluctant> backend_ = std::make_shared<Reluctant>();
  const std::shared_ptr<Evictions> evictions_ =
      std::make_shared<Evictions>(backend_, runtime_, [this](const std::string& line) {
        std::lock_guard lock(mutex_);
        warnings_.push_back(line);
      });
};

TEST_F(EvictionsTest, ManyAreReportedInSmallBatches) {
  Occupy();
  constexpr size_t kMany = 2000;
  for (size_t i = 0; i < kMany; ++i) evictions_->Add("t" + std::to_string(i));
  EXPECT_EQ(runtime_.fibers(), Evictions::kAtOnce);
  Finish();
  EXPECT_EQ(backend_->told().size(), kMany + Evictions::kAtOnce);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(EvictionsTest, AThreadWaitsOnce) {
  Occupy();
  // A thread that is being evicted may have been created again meanwhile, so it is queued again.
  for (int i = 0; i < 3; ++i) {
    evictions_->Add("t");
    evictions_->Add("busy0");
  }
  Finish();
  EXPECT_EQ(backend_->told()["t"], 1);
  EXPECT_EQ(backend_->told()["busy0"], 2);
}

TEST_F(EvictionsTest, CountsDroppedEvictions) {
  Occupy();
  constexpr size_t kTooMany = 5;
  for (size_t i = 0; i < Evictions::kWaitingMax + kTooMany; ++i) {
    evictions_->Add("t" + std::to_string(i));
  }
  Finish();
  EXPECT_EQ(backend_->told().size(), Evictions::kWaitingMax + Evictions::kAtOnce);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("too slow"), HasSubstr("5 deleted threads")));
}

TEST_F(EvictionsTest, AWorkerThatLeavesWaitsForThoseAtWorkOnly) {
  Occupy();
  evictions_->Add("t");
  evictions_->Stop();
  evictions_->Add("late");
  Finish();
  EXPECT_EQ(backend_->told().size(), Evictions::kAtOnce);
}

}  // namespace
}  // namespace agent_graph::auth
