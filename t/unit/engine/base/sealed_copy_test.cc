#include "base/sealed_copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file_content.h"

namespace agent_graph {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kBytesMax = 1024;

class SealedCopyTest : public testing::Test {
 protected:
  SealedCopyTest() {
    folder_ = testing::TempDir() + "sealed-XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~SealedCopyTest() override { std::filesystem::remove_all(folder_); }

  // Overwrites the file in place, so that it keeps its inode.
  std::string Write(const std::string& name, const std::string& content) {
    std::string path = folder_ + "/" + name;
    std::ofstream(path) << content;
    return path;
  }

  SealedCopy CopyOf(const std::string& path) {
    Result<SealedCopy> copy = copies_.Of(path, kBytesMax);
    EXPECT_TRUE(copy.ok()) << copy.status().ToString();
    return copy.ok() ? *copy : nullptr;
  }

  static std::string Content(const SealedCopy& copy) {
    return ReadFileContent(DescriptorOf(copy), kBytesMax).value();
  }

  std::string Refusal(const std::string& path) {
    Result<SealedCopy> copy = copies_.Of(path, kBytesMax);
    EXPECT_FALSE(copy.ok());
    EXPECT_THAT(copy.status().message(), StartsWith(path + ": "));
    return copy.status().message();
  }

  std::string folder_;
  SealedCopies copies_;
};

TEST_F(SealedCopyTest, AnEditInPlaceLeavesTheCopyAsItWas) {
  const std::string path = Write("graph.json", "checked");
  const SealedCopy copy = CopyOf(path);
  Write("graph.json", "edited");
  EXPECT_EQ(Content(copy), "checked");
  std::filesystem::remove(path);
  EXPECT_EQ(Content(copy), "checked");
}

TEST_F(SealedCopyTest, NobodyCanChangeACopy) {
  const SealedCopy copy = CopyOf(Write("graph.json", "checked"));
  const int fd = DescriptorOf(copy);
  EXPECT_LT(pwrite(fd, "x", 1, 0), 0);
  EXPECT_NE(ftruncate(fd, 0), 0);
  EXPECT_NE(fcntl(fd, F_ADD_SEALS, 0), 0);
  EXPECT_EQ(mmap(nullptr, 7, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_EQ(Content(copy), "checked");
}

TEST_F(SealedCopyTest, CodeCanBeMappedFromACopy) {
  const SealedCopy copy = CopyOf(Write("graph.so", "code"));
  void* mapped = mmap(nullptr, 4, PROT_READ | PROT_EXEC, MAP_PRIVATE, DescriptorOf(copy), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  munmap(mapped, 4);
}

TEST_F(SealedCopyTest, TheSameFileIsCopiedOnceAndAChangedOneAgain) {
  const std::string path = Write("both.so", "one");
  std::filesystem::create_symlink(path, folder_ + "/link.so");
  const SealedCopy first = CopyOf(path);
  EXPECT_EQ(CopyOf(folder_ + "/link.so"), first);
  EXPECT_NE(CopyOf(Write("other.so", "one")), first);
  Write("both.so", "three");
  const SealedCopy changed = CopyOf(path);
  EXPECT_NE(changed, first);
  EXPECT_EQ(Content(changed), "three");
  EXPECT_EQ(Content(first), "one");
}

TEST_F(SealedCopyTest, ACopyNamesTheFileItCameFrom) {
  const std::string path = std::filesystem::canonical(Write("graph.so", "code"));
  std::filesystem::create_symlink("graph.so", folder_ + "/link.so");
  EXPECT_EQ(CopyOf(folder_ + "/link.so")->origin, path);
}

TEST_F(SealedCopyTest, ADescriptorIsNotInheritedByOtherProgramsAndIsNoStandardOne) {
  const std::string path = Write("graph.json", "checked");
  const int input = dup(STDIN_FILENO);
  close(STDIN_FILENO);
  const SealedCopy copy = CopyOf(path);
  if (input >= 0) {
    dup2(input, STDIN_FILENO);
    close(input);
  }
  EXPECT_GT(DescriptorOf(copy), STDERR_FILENO);
  EXPECT_EQ(fcntl(DescriptorOf(copy), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(Content(copy), "checked");
}

TEST_F(SealedCopyTest, RefusalsSayWhy) {
  EXPECT_THAT(Refusal(folder_ + "/gone"), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(Refusal(folder_), HasSubstr("is not a regular file"));
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(Refusal(fifo), HasSubstr("is not a regular file"));
  EXPECT_THAT(Refusal(Write("large", std::string(kBytesMax + 1, 'x'))),
              HasSubstr("is larger than 1024 bytes"));
}

}  // namespace
}  // namespace agent_graph
