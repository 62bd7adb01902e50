#include "state/leveldb/disk/read_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "../../requests.h"

namespace agent_graph::state {
namespace {

class ReadGateTest : public testing::Test {
 protected:
  void SetUp() override {
    auto reserve = ReserveFile::Open(directory_.path());
    ASSERT_TRUE(reserve.ok());
    reserve_ = *std::move(reserve);
    gate_ = std::make_unique<ReadGate>(reserve_, kPatience);
  }
  // Uses up the reserve, like a write that finds no space.
  void FillDisk() {
    reserve_->GiveUp(ReserveFile::Use::kLog);
    ASSERT_TRUE(reserve_->low());
  }

  const TemporaryDirectory directory_;
  std::shared_ptr<ReserveFile> reserve_;
  std::unique_ptr<ReadGate> gate_;
};

TEST_F(ReadGateTest, StaysOpenWhileThereIsSpace) {
  gate_->WorkBegins();
  const ReadGate::Pass read(*gate_);
  gate_->Close();
  EXPECT_FALSE(gate_->is_closed());
}

TEST_F(ReadGateTest, StaysOpenWithoutWork) {
  FillDisk();
  const ReadGate::Pass read(*gate_);
  gate_->Close();
  EXPECT_FALSE(gate_->is_closed());
}

TEST_F(ReadGateTest, ClosesWhenTheReadsUnderWayHaveEnded) {
  FillDisk();
  gate_->WorkBegins();
  std::optional<ReadGate::Pass> read(*gate_);
  std::atomic<bool> ended{false};
  auto closed = std::async(std::launch::async, [&] {
    gate_->Close();
    return ended.load();
  });
  const auto ends_too_early = [&] {
    return closed.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  while (!gate_->is_closed() && !ends_too_early()) std::this_thread::yield();
  ended = true;
  read.reset();
  EXPECT_TRUE(closed.get());
}

// Calls `open` when a read waits at the closed gate, and expects that it was kept until then.
void ExpectKeptUntil(ReadGate& gate, const std::function<void()>& open) {
  std::atomic<bool> opened{false};
  auto read = std::async(std::launch::async, [&] {
    const ReadGate::Pass pass(gate);
    return opened.load();
  });
  const auto passes_too_early = [&] {
    return read.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  while (gate.waiting() == 0 && !passes_too_early()) std::this_thread::yield();
  opened = true;
  open();
  EXPECT_TRUE(read.get());
  EXPECT_FALSE(gate.is_closed());
}

TEST_F(ReadGateTest, KeepsReadsWaitingUntilItOpens) {
  FillDisk();
  gate_->WorkBegins();
  gate_->Close();
  ExpectKeptUntil(*gate_, [this] { gate_->Open(); });
}

TEST_F(ReadGateTest, OpensAtTheEndOfTheWork) {
  FillDisk();
  gate_->WorkBegins();
  gate_->Close();
  ExpectKeptUntil(*gate_, [this] { gate_->WorkEnds(); });
}

// A row of a scan may lead to another read.
TEST_F(ReadGateTest, AReadWithinAnotherOnePassesWhileTheGateCloses) {
  FillDisk();
  gate_->WorkBegins();
  std::optional<ReadGate::Pass> scan(*gate_);
  auto closed = std::async(std::launch::async, [&] { gate_->Close(); });
  while (!gate_->is_closed()) std::this_thread::yield();
  {
    const ReadGate::Pass inner(*gate_);  // would wait for kPatience
  }
  EXPECT_EQ(closed.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  scan.reset();
  closed.get();
  ExpectKeptUntil(*gate_, [this] { gate_->Open(); });
}

// A read that takes long must not stop the compaction, nor the compaction all reads.
TEST_F(ReadGateTest, NeitherSideWaitsForever) {
  FillDisk();
  ReadGate gate(reserve_, std::chrono::seconds(0));
  gate.WorkBegins();
  const ReadGate::Pass long_read(gate);
  gate.Close();
  const ReadGate::Pass another(gate);
}

}  // namespace
}  // namespace agent_graph::state
