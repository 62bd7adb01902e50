#include "state/leveldb/disk/reserve_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "../../requests.h"

namespace agent_graph::state {
namespace {

constexpr uint64_t kMiB = uint64_t{1024} * 1024;

// Bounds the size of the process's files, so that the reserve cannot grow beyond it, as on a full
// disk. The test's own disk has more space than the reserve needs.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : action_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, action_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*action_)(int);
  rlimit before_{};
};

class ReserveFileTest : public testing::Test {
 protected:
  std::unique_ptr<ReserveFile> Open() {
    auto reserve = ReserveFile::Open(directory_.path());
    EXPECT_TRUE(reserve.ok());
    return *std::move(reserve);
  }
  std::filesystem::path file() const {
    return std::filesystem::path(directory_.path()) / ReserveFile::kName;
  }
  uint64_t size() const { return std::filesystem::file_size(file()); }

 private:
  const TemporaryDirectory directory_;
};

TEST_F(ReserveFileTest, HasItsFullSize) {
  const auto reserve = Open();
  EXPECT_FALSE(reserve->low());
  EXPECT_GE(reserve->size_wanted(), 128 * kMiB);
  EXPECT_EQ(size(), reserve->size_wanted());
  EXPECT_TRUE(reserve->CheckWritable().ok());
}

TEST_F(ReserveFileTest, IsCompletedWhenItIsOpenedAgain) {
  uint64_t complete = 0;
  {
    const auto reserve = Open();
    complete = reserve->size_wanted();
    while (reserve->GiveUp(ReserveFile::Use::kLog)) EXPECT_TRUE(reserve->low());
    EXPECT_EQ(size(), kMiB);
  }
  const auto reserve = Open();
  EXPECT_FALSE(reserve->low());
  EXPECT_GE(reserve->size_wanted(), complete);
  EXPECT_EQ(size(), reserve->size_wanted());
}

TEST_F(ReserveFileTest, ARestartOnAFullDiskTakesNoPartForTheWhole) {
  const uint64_t complete = Open()->size_wanted();
  const uint64_t left = complete - 2 * kMiB;
  std::filesystem::resize_file(file(), left);
  {
    const FileSizeLimit full(left);
    for (int i = 0; i < 2; ++i) {
      const auto reserve = Open();
      EXPECT_TRUE(reserve->low());
      EXPECT_EQ(reserve->size_wanted(), complete);
      EXPECT_EQ(size(), left);
      reserve->Refill();
      EXPECT_TRUE(reserve->low());
    }
  }
  EXPECT_FALSE(Open()->low());
}

TEST_F(ReserveFileTest, OneOfAnOlderBuildThatCannotGrowIsComplete) {
  std::ofstream(file()).close();
  {
    const FileSizeLimit quota(128 * kMiB);
    const auto first = Open();
    EXPECT_EQ(first->size_wanted(), 128 * kMiB);
    EXPECT_FALSE(first->low());
    EXPECT_EQ(size(), 128 * kMiB);
    EXPECT_FALSE(Open()->low());
  }
  const auto grown = Open();
  EXPECT_FALSE(grown->low());
  EXPECT_EQ(size(), grown->size_wanted());
}

TEST_F(ReserveFileTest, ALargerOneOfAnOlderBuildKeepsItsSize) {
  const uint64_t complete = Open()->size_wanted();
  std::fstream(file()) << std::string(4096, '\0');  // an older build writes this
  const FileSizeLimit full(complete);
  const auto reserve = Open();
  EXPECT_EQ(reserve->size_wanted(), complete);
  EXPECT_EQ(size(), complete);
}

TEST_F(ReserveFileTest, ASizeThatIsNoNumberIsThatOfAnOlderBuild) {
  std::ofstream(file()) << "MiB of the complete reserve: many\n";
  EXPECT_GE(Open()->size_wanted(), 128 * kMiB);
  std::ofstream(file()) << "MiB of the complete reserve: 999999\n";
  EXPECT_LE(Open()->size_wanted(), 256 * kMiB);
}

}  // namespace
}  // namespace agent_graph::state
