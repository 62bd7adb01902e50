#include "state/leveldb/disk/read_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>

#include "../../requests.h"

namespace agent_graph::state {
namespace {

class ReadGateTest : public testing::Test {
 protected:
  void SetUp() override {
    auto reserve = ReserveFile::Open(directory_.path());
    ASSERT_TRUE(reserve.ok());
    reserve_ = *std::move(reserve);
    gate_ = std::make_unique<ReadGate>(reserve_);
  }
  // As a write does that finds no space.
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
  const ReadGate::Pass before(*gate_);
  gate_->Close();
  const ReadGate::Pass after(*gate_);
}

TEST_F(ReadGateTest, StaysOpenWithoutWork) {
  FillDisk();
  const ReadGate::Pass before(*gate_);
  gate_->Close();
  const ReadGate::Pass after(*gate_);
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
  ended = true;
  read.reset();
  EXPECT_TRUE(closed.get());
  gate_->WorkEnds();
}

TEST_F(ReadGateTest, KeepsReadsWaitingUntilItOpens) {
  FillDisk();
  gate_->WorkBegins();
  gate_->Close();
  std::atomic<bool> opened{false};
  auto read = std::async(std::launch::async, [&] {
    const ReadGate::Pass pass(*gate_);
    return opened.load();
  });
  opened = true;
  gate_->Open();
  EXPECT_TRUE(read.get());
}

TEST_F(ReadGateTest, OpensAtTheEndOfTheWork) {
  FillDisk();
  gate_->WorkBegins();
  gate_->Close();
  std::atomic<bool> ended{false};
  auto read = std::async(std::launch::async, [&] {
    const ReadGate::Pass pass(*gate_);
    return ended.load();
  });
  ended = true;
  gate_->WorkEnds();
  EXPECT_TRUE(read.get());
}

// A read that takes long must not stop the compaction, nor the compaction all reads.
TEST_F(ReadGateTest, NeitherSideWaitsForever) {
  FillDisk();
  gate_->WorkBegins();
  const ReadGate::Pass long_read(*gate_);
  gate_->Close();
  const ReadGate::Pass another(*gate_);
}

}  // namespace
}  // namespace agent_graph::state
