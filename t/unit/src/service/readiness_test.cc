#include "service/readiness.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "runtime/runtime.h"
#include "service/readiness_checks.h"

namespace agent_graph::service {
namespace {

using api::ReadyPart;

// Waits for what a fiber observes.
template <typename Condition>
void Await(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

class ReadinessTest : public ::testing::Test {
 protected:
  ~ReadinessTest() override {
    readiness_.Close();
    EXPECT_TRUE(runtime_.Stop(DeadlineAfter(std::chrono::seconds(60))).ok());
  }

  void Start() {
    ASSERT_TRUE(runtime_.Start().ok());
    readiness_.Start(runtime_);
  }
  bool Fails(ReadyPart part) {
    const std::vector<ReadyPart> failing = readiness_.Failing();
    return std::ranges::find(failing, part) != failing.end();
  }

  runtime::Runtime runtime_{{}};
  Readiness readiness_;
  std::atomic<bool> works_{true};  // read by checks, so it outlives the fibers
};

TEST_F(ReadinessTest, FailsUntilTheFirstCheck) {
  readiness_.Add(ReadyPart::kState, [](const auto&) { return Status::Ok(); });
  EXPECT_TRUE(Fails(ReadyPart::kState));
  EXPECT_FALSE(Fails(ReadyPart::kDisk));  // it has no check
  Start();
  Await([&] { return !Fails(ReadyPart::kState); });
}

TEST_F(ReadinessTest, FollowsTheLatestCheck) {
  readiness_.Add(ReadyPart::kDisk, [this](const auto&) {
    return works_ ? Status::Ok() : Status(StatusCode::kUnavailable, "no");
  });
  Start();
  Await([&] { return !Fails(ReadyPart::kDisk); });
  works_ = false;
  Await([&] { return Fails(ReadyPart::kDisk); });
  works_ = true;
  Await([&] { return !Fails(ReadyPart::kDisk); });
}

TEST_F(ReadinessTest, ACheckThatHangsFailsAloneAndEndsWithTheService) {
  readiness_.Add(ReadyPart::kState, [this](const runtime::Cancellation& cancellation) {
    return works_ ? Status::Ok() : runtime::SleepUntil(kNoDeadline, &cancellation);
  });
  readiness_.Add(ReadyPart::kEngine, [](const auto&) { return Status::Ok(); });
  Start();
  Await([&] { return readiness_.Failing().empty(); });
  works_ = false;
  Await([&] { return Fails(ReadyPart::kState); });
  Await([&] { return !Fails(ReadyPart::kEngine); });
}

TEST(CheckWritable, RefusesADirectoryThatIsNotThere) {
  EXPECT_FALSE(CheckWritable("/nonexistent/directory").ok());
  EXPECT_TRUE(CheckWritable(std::filesystem::temp_directory_path()).ok());
}

}  // namespace
}  // namespace agent_graph::service
