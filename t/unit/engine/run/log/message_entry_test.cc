// The entry of a message in the run log.
#include "run/log/message_entry.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::run {
namespace {

TEST(MessageEntryTest, NamesEveryBlockAndTool) {
  Message message = Message::Assistant("text");
  message.id = "m\"1\"";
  for (MediaBlock::Type type : {MediaBlock::Type::kImage, MediaBlock::Type::kAudio,
                                MediaBlock::Type::kVideo, MediaBlock::Type::kDocument}) {
    MediaBlock media;
    media.type = type;
    message.content.emplace_back(media);
  }
  message.content.emplace_back(ToolCallBlock{"c1", "add", "{}", false});
  message.content.emplace_back(ToolCallBlock{"c2", "locate", "{}", true});
  message.content.emplace_back(ToolResultBlock{"c1", "1", false});
  EXPECT_EQ(json::parse(Encode(MessageEntry(message, "MAIN"), 0).json), json::parse(R"({
      "message_id":"m\"1\"","node":"MAIN","role":"assistant",
      "blocks":["text","image","audio","video","document","tool_call","remote_tool_call",
                "tool_result"],
      "tools":["add","locate"]})"));
}

TEST(MessageEntryTest, HasUsageAndModelOfAReply) {
  Message message = Message::Assistant("");
  message.content.clear();
  message.usage =
      Usage{.prompt_tokens = 1, .completion_tokens = 2, .total_tokens = 3, .reasoning_tokens = 4};
  const json usage = {{"prompt", 1}, {"completion", 2}, {"reasoning", 4}, {"total", 3}};
  message.metadata_json = R"({"model":"m-1"})";
  json entry = json::parse(Encode(MessageEntry(message, ""), 0).json);
  EXPECT_EQ(entry.at("usage"), usage);
  EXPECT_EQ(entry.at("model"), "m-1");
  for (const char* metadata : {"", "{", "[1]", "{}", R"({"model":5})"}) {
    message.metadata_json = metadata;
    entry = json::parse(Encode(MessageEntry(message, ""), 0).json);
    EXPECT_EQ(entry.at("usage"), usage) << metadata;
    EXPECT_FALSE(entry.contains("model")) << metadata;
  }
}

}  // namespace
}  // namespace agent_graph::run
