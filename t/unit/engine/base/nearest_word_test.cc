#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace agent_graph {
namespace {

constexpr std::string_view kNames[] = {"model", "system_prompt", "timeout_ms", "tool_node"};

TEST(NearestWord, FindsMisspellingsAndPartsOfNames) {
  EXPECT_EQ(NearestWord("modle", kNames), "model");
  EXPECT_EQ(NearestWord("timeout", kNames), "timeout_ms");
  EXPECT_EQ(NearestWord("prompt", kNames), "system_prompt");
  EXPECT_EQ(NearestWord("toolNode", kNames), "tool_node");
  EXPECT_EQ(NearestWord("node_tool", kNames), "tool_node");
}

TEST(NearestWord, FindsNothingFarAway) {
  EXPECT_EQ(NearestWord("temperature", kNames), "");
  EXPECT_EQ(NearestWord("node_model", kNames), "");
  EXPECT_EQ(NearestWord("ms", {}), "");
  EXPECT_EQ(NearestWord("", kNames), "");
}

}  // namespace
}  // namespace agent_graph
