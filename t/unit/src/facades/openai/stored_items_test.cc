// AppendInputItems: the items of a stored message and their order.
#include "facades/openai/stored_items.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::openai {
namespace {

std::vector<json> ItemsOf(Message message) {
  message.id = "m";
  std::vector<std::string> texts;
  AppendInputItems("t", message, texts);
  std::vector<json> items;
  for (const std::string& text : texts) items.push_back(json::parse(text));
  return items;
}

TEST(AppendInputItems, KeepsTheOrderOfTheBlocks) {
  Message answer;
  answer.role = Role::kAssistant;
  answer.content = {ReasoningBlock{.summary = "hm"}, TextBlock{.text = "one"},
                    ToolCallBlock{.id = "c1", .name = "f"}, ToolCallBlock{.id = "c2", .name = "f"},
                    TextBlock{.text = "two"}};
  const std::vector<json> items = ItemsOf(answer);
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[0].at("type"), "reasoning");
  EXPECT_EQ(items[0].at("summary").at(0).at("text"), "hm");
  EXPECT_EQ(items[1].at("content").at(0).at("text"), "one");
  EXPECT_EQ(items[2].at("call_id"), "c1");
  EXPECT_EQ(items[3].at("call_id"), "c2");
  EXPECT_EQ(items[4].at("content").at(0).at("text"), "two");
  EXPECT_NE(items[1].at("id"), items[4].at("id"));
}

TEST(AppendInputItems, KeepsTheContentOfAUserTogether) {
  MediaBlock image;
  image.type = MediaBlock::Type::kImage;
  Message message = Message::User("look");
  message.content.emplace_back(image);
  const std::vector<json> items = ItemsOf(message);
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].at("content").size(), 2U);
}

TEST(HandsOutCalls, IsTrueForTheSecondMessageWithACall) {
  Message message;
  message.content.emplace_back(ToolCallBlock{.id = "c1", .name = "f"});
  message.role = Role::kTool;
  EXPECT_TRUE(HandsOutCalls(message));
  message.role = Role::kAssistant;
  EXPECT_FALSE(HandsOutCalls(message));
  EXPECT_FALSE(HandsOutCalls(Message::ToolResult("c1", "1")));
}

}  // namespace
}  // namespace agent_graph::openai
