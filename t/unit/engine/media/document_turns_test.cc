#include "media/document_turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../net/on_fiber.h"

namespace agent_graph::media {
namespace {

using std::chrono::seconds;

class DocumentTurnsTest : public testing::OnFiber {
 protected:
  bool TakeNow(const std::string& user) {
    return Run([&] { return turns_.Take(user, MonotonicClock::now()); });
  }
  // Waits for a turn on a new fiber and records its user.
  void Queue(const std::string& user) {
    const size_t before = turns_.waiting();
    runtime_.Spawn([this, user] {
      if (!turns_.Take(user, kNoDeadline)) return;
      std::lock_guard lock(mutex_);
      got_.push_back(user);
      has_got_.notify_all();
    });
    while (turns_.waiting() == before) std::this_thread::yield();
  }
  // Ends a turn; returns the user who gets the next one, or "".
  std::string End(const std::string& user, seconds lasted = seconds(0)) {
    const size_t before = turns_.waiting();
    turns_.End(user, lasted);
    if (turns_.waiting() == before) return "";
    std::unique_lock lock(mutex_);
    has_got_.wait(lock, [this] { return !got_.empty(); });
    return std::exchange(got_, {}).front();
  }

  DocumentTurns turns_;

 private:
  std::mutex mutex_;
  std::condition_variable has_got_;
  std::vector<std::string> got_;  // guarded by mutex_
};

TEST_F(DocumentTurnsTest, OneUserNeverHasAll) {
  EXPECT_TRUE(TakeNow("a"));
  EXPECT_TRUE(TakeNow("a"));
  EXPECT_FALSE(TakeNow("a"));
  EXPECT_TRUE(TakeNow("b")) << "delayed by another user's documents";
  EXPECT_FALSE(TakeNow("b"));
  EXPECT_FALSE(TakeNow("c"));
  turns_.End("b", {});
  EXPECT_FALSE(TakeNow("a"));
  EXPECT_TRUE(TakeNow("c"));
}

TEST_F(DocumentTurnsTest, TheUserWithTheFewestIsNext) {
  for (const char* user : {"a", "a", "b"}) EXPECT_TRUE(TakeNow(user));
  for (const char* user : {"a", "a", "b", "c"}) Queue(user);
  EXPECT_EQ(End("b"), "b") << "came before c, and has no turn either";
  EXPECT_EQ(End("b"), "c");
  EXPECT_EQ(End("c"), "") << "a has as many as one user may have";
  EXPECT_EQ(End("a"), "a");
  EXPECT_EQ(End("a"), "a");
  EXPECT_EQ(turns_.waiting(), 0u);
}

TEST_F(DocumentTurnsTest, ThenTheOneWhoseDocumentsTookLeast) {
  for (const char* user : {"a", "b", "c"}) EXPECT_TRUE(TakeNow(user));
  for (const char* user : {"a", "a", "b", "b", "d"}) Queue(user);
  EXPECT_EQ(End("a", seconds(10)), "d") << "b has a turn, and what a had took long";
  EXPECT_EQ(End("b", seconds(1)), "b") << "took less than a";
  EXPECT_EQ(End("c"), "a");
  EXPECT_EQ(End("b", seconds(20)), "b") << "has none, a has one";
  EXPECT_EQ(End("d"), "a");
}

TEST_F(DocumentTurnsTest, WhoWaitsTooLongLeavesTheQueue) {
  for (const char* user : {"a", "a", "b"}) EXPECT_TRUE(TakeNow(user));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(TakeNow("c"));
  EXPECT_EQ(turns_.waiting(), 0u);
  EXPECT_EQ(End("a"), "");
  EXPECT_TRUE(TakeNow("c"));
}

TEST_F(DocumentTurnsTest, OneUserDoesNotFillTheQueue) {
  for (const char* user : {"a", "a", "b"}) EXPECT_TRUE(TakeNow(user));
  for (size_t i = 0; i < DocumentTurns::kWaitingPerUserMax; ++i) Queue("a");
  EXPECT_FALSE(Run([&] { return turns_.Take("a", kNoDeadline); })) << "refused at once";
  Queue("c");
  EXPECT_EQ(End("b"), "c");
  for (size_t i = 0; i < DocumentTurns::kWaitingPerUserMax; ++i) EXPECT_EQ(End("a"), "a");
  EXPECT_EQ(turns_.waiting(), 0u);
}

}  // namespace
}  // namespace agent_graph::media
