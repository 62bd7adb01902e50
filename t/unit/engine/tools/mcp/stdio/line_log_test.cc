#include "tools/mcp/stdio/line_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agent_graph::tools::mcp {
namespace {

class LineLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines_;
  LineLog log_{{"a-secret-token"}, [this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(LineLogTest, LinesInPieces) {
  log_.Feed("one\ntw");
  log_.Feed("o\n\n \nthree");
  EXPECT_EQ(lines_, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(log_.last(), "two");
}

// Wherever the line is cut, and in whichever pieces it arrives.
TEST_F(LineLogTest, NoPartOfASecret) {
  for (const size_t before : {0, 480, 486, 487, 495, 499, 500}) {
    const std::string line = std::string(before, 'x') + "a-secret-token\n";
    log_.Feed(line);
    log_.Feed(line.substr(0, before + 7));
    log_.Feed(line.substr(before + 7));
  }
  ASSERT_EQ(lines_.size(), 14u);
  for (const std::string& line : lines_) {
    EXPECT_EQ(line.find('a'), std::string::npos) << line;
    EXPECT_LE(line.size(), kLogLineBytesMax + 3);
  }
}

}  // namespace
}  // namespace agent_graph::tools::mcp
