#include "tools/mcp/protocol/background.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace agent_graph::tools::mcp {
namespace {

TEST(RunToEndTest, PassesTheResultOn) {
  std::vector<Result<int>> ends;
  RunToEnd<int>([] { return 3; }, [&](Result<int> result) { ends.push_back(result); });
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(*ends[0], 3);
}

TEST(RunToEndTest, AnExceptionIsAnEndToo) {
  std::vector<Status> ends;
  const auto work = []() -> Result<int> { throw std::runtime_error("no"); };
  EXPECT_THROW(
      RunToEnd<int>(work, [&](const Result<int>& result) { ends.push_back(result.status()); }),
      std::runtime_error);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace agent_graph::tools::mcp
