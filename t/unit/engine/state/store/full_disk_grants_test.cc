// Accepted runs on a full disk: a run that no worker could begin is not granted.
#include <gmock/gmock.h>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/store.h"
#include "wrapped_database.h"

namespace agent_graph::state {
namespace {

class FullDatabase : public WrappedDatabase {
 public:
  bool low_on_space() const override { return is_full; }

  bool is_full = false;
};

class FullDiskGrantsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_.Load().ok());
    store_.Connect(
        {.client = "worker", .process = getpid(), .answers_pings = true, .takes_runs = true}, 1);
    Commit();
  }
  void Accept(const std::string& run_id) {
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", run_id);
    accept.begin.enqueue_if_busy = true;
    accept.begin.queue_max = 10;
    accept.request = "request";
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    EXPECT_TRUE(Send(Operation::kAcceptRun, accept).ok());
  }
  template <typename Body>
  Status Send(Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_.Apply({"worker", 1, ++sequence_}, {sequence_, 0, operation, UnixMicros()}, unpacker);
    const std::vector<StoreReply> replies = Commit();
    return replies.empty() ? Status::Ok() : replies.back().status;
  }
  std::vector<StoreReply> Commit() {
    Result<std::vector<StoreReply>> replies = store_.Commit();
    EXPECT_TRUE(replies.ok());
    for (Store::Notice& notice : store_.TakeNotices()) {
      if (auto* granted = std::get_if<GrantedRun>(&notice.message)) {
        granted_.push_back(std::move(*granted));
      }
    }
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }
  void PassPause() {
    now_ += std::chrono::seconds(2);
    store_.Tick(now_);
    Commit();
  }

  FullDatabase database_;
  Store store_{database_, {.sync = SyncLevel::kNone}};
  Deadline now_ = MonotonicClock::now();
  uint64_t sequence_ = 0;
  std::vector<GrantedRun> granted_;
};

TEST_F(FullDiskGrantsTest, ARunThatIsGivenBackWaitsForSpace) {
  Accept("r");
  ASSERT_EQ(granted_.size(), 1u);
  database_.is_full = true;
  BeginRunRequest begin = RunOn("t", "", "r");
  begin.granted = true;
  EXPECT_EQ(Send(Operation::kBeginRun, begin).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(
      Send(Operation::kHandOverRun, HandOverRunRequest{"t", "r", granted_[0].lease_epoch}).ok());
  for (int i = 0; i < 10; ++i) PassPause();
  EXPECT_EQ(granted_.size(), 1u);
  database_.is_full = false;
  PassPause();
  EXPECT_EQ(granted_.size(), 2u);
}

TEST_F(FullDiskGrantsTest, TheNextRunOfAThreadWaitsForSpace) {
  Accept("first");
  Accept("second");
  ASSERT_EQ(granted_.size(), 1u);
  database_.is_full = true;
  BeginRunReply begun;
  begun.lease_epoch = granted_[0].lease_epoch;
  EXPECT_TRUE(Send(Operation::kFinishRun, FinishOf(RunOn("t", "", "first"), begun)).ok());
  PassPause();
  EXPECT_EQ(granted_.size(), 1u);
  database_.is_full = false;
  PassPause();
  ASSERT_EQ(granted_.size(), 2u);
  EXPECT_EQ(granted_[1].run_id, "second");
}

}  // namespace
}  // namespace agent_graph::state
