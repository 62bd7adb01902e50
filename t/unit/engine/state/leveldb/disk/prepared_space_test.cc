#include "state/leveldb/disk/prepared_space.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

namespace agent_graph::state {
namespace {

class PreparedSpaceTest : public testing::Test {
 protected:
  PreparedSpaceTest() {
    std::string path = (std::filesystem::temp_directory_path() / "prepared-XXXXXX").string();
    file_ = FileDescriptor(mkstemp(path.data()));
    (void)unlink(path.c_str());
  }

  void Write(PreparedSpace& space, const std::string& bytes) {
    space.Prepare(content_.size(), bytes.size());
    ASSERT_EQ(write(file_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    content_ += bytes;
  }
  std::string ReadAll() const {
    struct stat info{};
    EXPECT_EQ(fstat(file_.get(), &info), 0);
    std::string bytes(static_cast<size_t>(info.st_size), 'x');
    EXPECT_EQ(pread(file_.get(), bytes.data(), bytes.size(), 0), info.st_size);
    return bytes;
  }

  FileDescriptor file_;
  std::string content_;
};

TEST_F(PreparedSpaceTest, ZerosFollowWhatIsWritten) {
  PreparedSpace space(file_.get());
  for (int i = 0; i < 100; ++i) {
    Write(space, std::string(10'000, static_cast<char>('a' + i % 26)));
    const std::string bytes = ReadAll();
    ASSERT_EQ(bytes.substr(0, content_.size()), content_);
    ASSERT_EQ(bytes.find_first_not_of('\0', content_.size()), std::string::npos);
    ASSERT_LE(bytes.size(), content_.size() + PreparedSpace::kAheadBytes);
  }
}

TEST_F(PreparedSpaceTest, IsWrittenSeldom) {
  PreparedSpace space(file_.get());
  Write(space, "first");
  const size_t size = ReadAll().size();
  while (content_.size() + 1000 < PreparedSpace::kAheadBytes) Write(space, std::string(1000, 'x'));
  EXPECT_EQ(ReadAll().size(), size);
}

TEST_F(PreparedSpaceTest, HoldsMoreThanIsWrittenAhead) {
  PreparedSpace space(file_.get());
  Write(space, std::string(3 * PreparedSpace::kAheadBytes, 'x'));
  Write(space, "end");
  EXPECT_EQ(ReadAll().substr(0, content_.size()), content_);
}

TEST_F(PreparedSpaceTest, IsFreedAtTheEnd) {
  PreparedSpace space(file_.get());
  Write(space, "all");
  space.Release(content_.size());
  EXPECT_EQ(ReadAll(), "all");
}

// A bound on the size of files stands for a full disk.
TEST_F(PreparedSpaceTest, IsNotNeeded) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  PreparedSpace space(file_.get());
  Write(space, std::string(900, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  Write(space, std::string(5000, 'y'));
  space.Release(content_.size());
  EXPECT_EQ(ReadAll(), content_);
}

}  // namespace
}  // namespace agent_graph::state
