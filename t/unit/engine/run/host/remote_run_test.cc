// RemoteRun: one of a worker's followers asks for all of them, and another one if it leaves.
#include "run/host/remote_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../../state/fake_service.h"

namespace agent_graph::run {
namespace {

using testing::NiceMock;

constexpr std::chrono::seconds kPatience{20};

class RemoteRunTest : public testing::Test {
 protected:
  RemoteRunTest() {
    ON_CALL(state_, WatchRun).WillByDefault([this](const auto& known, const auto* cancellation) {
      return Answer(known, *cancellation);
    });
  }

  // Waits until there is more text, as the state does.
  Result<state::WatchRunReply> Answer(const state::WatchRunRequest& known,
                                      const runtime::Cancellation& cancellation) {
    EXPECT_EQ(asking_.fetch_add(1), 0) << "one at a time";
    ++asked_;
    const std::shared_ptr<void> end(nullptr, [this](void*) { --asking_; });
    state::WatchRunReply reply{.lease_epoch = 1, .log_end = 10, .ended = false, .piece = {}};
    const Deadline deadline = DeadlineAfter(kPatience);
    while (known.lease_epoch == 1 && length_ <= known.text_bytes) {
      if (cancellation.cancelled())
        return runtime::WakeStatus(runtime::WakeReason::kCancelled, &cancellation);
      if (MonotonicClock::now() >= deadline) return Status(StatusCode::kInternal, "no more text");
      std::this_thread::yield();
    }
    reply.piece.emplace().message_id = "m";
    reply.piece->text_begin = known.text_bytes;
    reply.piece->text.assign(length_ - known.text_bytes, 'x');
    return reply;
  }

  // Reads until it has the text, or is cancelled.
  void Read(size_t length, const runtime::Cancellation& cancellation) {
    while (!cancellation.cancelled()) {
      const LiveRun::View view = run_->live().Read("", 0, 0);
      if (view.partial && view.partial->text.size() >= length) return;
      (void)run_->Await(view.version, state::Scope::All(), cancellation, DeadlineAfter(kPatience));
    }
  }

  NiceMock<state::FakeService> state_;
  std::atomic<size_t> length_{0};
  std::atomic<int> asking_{0};
  std::atomic<int> asked_{0};
  std::atomic<int64_t> held_{0};
  RemoteRuns runs_{state_, [this](int64_t bytes) { held_ += bytes; }};
  std::shared_ptr<RemoteRun> run_ = runs_.Join("t", 1, "r");
};

TEST_F(RemoteRunTest, FollowersOfOneRunShareIt) {
  EXPECT_EQ(runs_.Join("t", 1, "r"), run_);
  EXPECT_NE(runs_.Join("t", 2, "r"), run_);
  EXPECT_NE(runs_.Join("t", 1, "other"), run_);
}

TEST_F(RemoteRunTest, AllFollowersGetWhatOneAsksFor) {
  std::vector<std::thread> readers;
  const runtime::Cancellation never;
  for (int i = 0; i < 8; ++i) readers.emplace_back([&] { Read(5, never); });
  for (size_t length = 1; length <= 5; ++length) length_ = length;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(held_, 5);
  run_.reset();
  EXPECT_EQ(held_, 0);
}

TEST_F(RemoteRunTest, AnotherFollowerAsksWhenTheFirstOneHasGone) {
  const runtime::Cancellation leaves;
  const runtime::Cancellation never;
  std::thread first([&] { Read(5, leaves); });
  while (asked_ < 2) std::this_thread::yield();  // it waits for text
  std::thread second([&] { Read(5, never); });
  leaves.Cancel(runtime::CancelReason::kClientGone);
  first.join();
  length_ = 5;
  second.join();
  EXPECT_EQ(run_->live().Read("", 0, 0).partial->text, "xxxxx");
}

TEST_F(RemoteRunTest, ARunThatIsGoneEndsForAll) {
  ON_CALL(state_, WatchRun).WillByDefault([](const auto&, const auto*) {
    return Result<state::WatchRunReply>(NotFound("run not found"));
  });
  const runtime::Cancellation never;
  const Status status = run_->Await(run_->live().Read("", 0, 0).version, state::Scope::All(), never,
                                    DeadlineAfter(kPatience));
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(run_->live().Read("", 0, 0).ended);
}

}  // namespace
}  // namespace agent_graph::run
