#include "base/elf_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace agent_graph {
namespace {

using testing::Contains;
using testing::IsEmpty;

std::string OwnProgram() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ElfLibrariesTest, OfAProgram) {
  EXPECT_THAT(ReadElfLibraries(OwnProgram()).names, Contains("libc.so.6"));
}

TEST(ElfLibrariesTest, OtherContentHasNone) {
  for (const std::string& content : {std::string(), std::string("{}"), std::string("\177ELF"),
                                     OwnProgram().substr(0, 64), std::string(1000, '\0')}) {
    const ElfLibraries libraries = ReadElfLibraries(content);
    EXPECT_THAT(libraries.names, IsEmpty());
    EXPECT_THAT(libraries.folders, IsEmpty());
  }
}

// No byte outside of the text is read, even if the offsets in it are wrong.
TEST(ElfLibrariesTest, DamagedFilesDoNoHarm) {
  const std::string whole = OwnProgram();
  for (size_t size = 64; size < whole.size(); size += 1 + whole.size() / 23) {
    ReadElfLibraries(whole.substr(0, size));
  }
  for (size_t at = 16; at < 4096 && at < whole.size(); ++at) {
    std::string damaged = whole.substr(0, 1 << 16);
    damaged[at] = static_cast<char>(0xff);
    ReadElfLibraries(damaged);
  }
}

TEST(ElfLibrariesTest, OriginIsTheFolderOfTheFile) {
  EXPECT_EQ(ExpandOrigin("$ORIGIN", "/x"), "/x");
  EXPECT_EQ(ExpandOrigin("${ORIGIN}/lib", "/x"), "/x/lib");
  EXPECT_EQ(ExpandOrigin("$ORIGIN/../lib", "/x"), "/x/../lib");
  EXPECT_EQ(ExpandOrigin("/usr/lib", "/x"), "");
  EXPECT_EQ(ExpandOrigin("$ORIGIN/$LIB", "/x"), "");
  EXPECT_EQ(ExpandOrigin("", "/x"), "");
}

}  // namespace
}  // namespace agent_graph
