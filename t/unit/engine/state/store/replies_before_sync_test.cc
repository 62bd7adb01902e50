// Replies that are sent before the changes of their commit are on the disk.
#include <algorithm>
#include <string>
#include <vector>

#include "store_fixture.h"

namespace agent_graph::state {
namespace {

class RepliesBeforeSyncTest : public StoreTest {
 protected:
  void SetUp() override {
    options_.sync = SyncLevel::kRun;
    StoreTest::SetUp();
    ClientHello hello;
    hello.client = "other";
    hello.process = getpid();
    store_->Connect(hello, 2);
  }

  template <typename Body>
  void ApplyOfOther(uint64_t sequence, Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({"other", 2, sequence}, {sequence, 0, operation, now_micros_}, unpacker);
  }
  static BeginRunRequest Waiting(const std::string& run_id) {
    BeginRunRequest run = RunOn("t", "", run_id);
    run.enqueue_if_busy = true;
    run.wait_ms_max = 60'000;
    return run;
  }
  FinishRunRequest FirstRun() {
    const BeginRunRequest run = RunOn("t", "", "first");
    Apply(1, Operation::kBeginRun, run);
    BeginRunReply begun;
    begun.lease_epoch = 1;
    return FinishOf(run, begun);
  }
  static bool IsSentBeforeSync(const std::vector<StoreReply>& replies, uint64_t sequence) {
    const auto found = std::ranges::find_if(
        replies, [&](const StoreReply& reply) { return reply.to.sequence == sequence; });
    EXPECT_NE(found, replies.end());
    return found != replies.end() && found->before_sync;
  }
};

TEST_F(RepliesBeforeSyncTest, ARunBeginsAtOnceAndItsEndWaits) {
  const FinishRunRequest finish = FirstRun();
  EXPECT_TRUE(IsSentBeforeSync(Commit(), 1));
  Apply(2, Operation::kFinishRun, finish);
  EXPECT_FALSE(IsSentBeforeSync(Commit(), 2));
}

TEST_F(RepliesBeforeSyncTest, ARunOfAnotherClientFollowsAtOnce) {
  const FinishRunRequest finish = FirstRun();
  ApplyOfOther(2, Operation::kBeginRun, Waiting("second"));
  Commit();
  Apply(3, Operation::kFinishRun, finish);
  const std::vector<StoreReply> replies = Commit();
  EXPECT_FALSE(IsSentBeforeSync(replies, 3));
  EXPECT_TRUE(IsSentBeforeSync(replies, 2));
}

TEST_F(RepliesBeforeSyncTest, ARunOfTheSameClientFollowsTheReplyAboutTheFirst) {
  const FinishRunRequest finish = FirstRun();
  Apply(2, Operation::kBeginRun, Waiting("second"));
  Commit();
  Apply(3, Operation::kFinishRun, finish);
  const std::vector<StoreReply> replies = Commit();
  EXPECT_FALSE(IsSentBeforeSync(replies, 3));
  EXPECT_FALSE(IsSentBeforeSync(replies, 2));
}

TEST_F(RepliesBeforeSyncTest, ARunOfTheSameClientFollowsAtOnceIfItHasTheWindow) {
  FinishRunRequest finish = FirstRun();
  finish.window_is_kept = true;
  Apply(2, Operation::kBeginRun, Waiting("second"));
  Commit();
  Apply(3, Operation::kFinishRun, finish);
  const std::vector<StoreReply> replies = Commit();
  EXPECT_FALSE(IsSentBeforeSync(replies, 3));
  EXPECT_TRUE(IsSentBeforeSync(replies, 2));
}

}  // namespace
}  // namespace agent_graph::state
