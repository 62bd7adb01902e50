#include "run/context/lost_calls.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::run {
namespace {

TEST(LostCallsTest, ResultsFollowTheLog) {
  const LostCalls lost({
      {"node_started", R"({"node":"TOOLS"})"},
      {"tool_intent", R"({"call_id":"ended"})"},
      {"tool_intent", R"({"call_id":"failed"})"},
      {"tool_intent", R"({"call_id":"begun"})"},
      {"tool_finished", R"({"call_id":"ended","is_error":false,"output":{"x":1}})"},
      {"tool_finished", R"({"call_id":"failed","is_error":true,"output":"no"})"},
      {"tool_finished", "what is this"},
      {"tool_finished", R"({"call_id":7})"},
  });
  const auto result = [&](const char* id) {
    const Message message = lost.ResultOf(id);
    const ToolResultBlock* block = message.ToolResults().at(0);
    EXPECT_EQ(block->call_id, id);
    return std::pair(block->output_json, block->is_error);
  };
  EXPECT_EQ(result("ended"), std::pair(std::string(R"({"x":1})"), false));
  EXPECT_EQ(result("failed"), std::pair(std::string(R"("no")"), true));
  EXPECT_NE(result("begun").first.find("whether it took effect is unknown"), std::string::npos);
  EXPECT_TRUE(result("begun").second);
  EXPECT_NE(result("other").first.find("before this call had a result"), std::string::npos);
  EXPECT_TRUE(result("other").second);
}

// The maximum depth of an output; the entry around it is deeper.
TEST(LostCallsTest, TheDeepestOutput) {
  const std::string output = std::string(128, '[') + std::string(128, ']');
  const LostCalls lost({{"tool_finished", R"({"call_id":"c","output":)" + output + "}"}});
  const Message message = lost.ResultOf("c");
  EXPECT_EQ(message.ToolResults().at(0)->output_json, output);
  EXPECT_FALSE(message.ToolResults().at(0)->is_error);
}

}  // namespace
}  // namespace agent_graph::run
