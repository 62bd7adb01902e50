#include "facades/openai/chat_view.h"

#include <gtest/gtest.h>

namespace agent_graph::openai {
namespace {

using ShowTools = ChatView::ShowTools;

Message Answer(const std::string& id, const std::string& text) {
  Message message = Message::Assistant(text);
  message.id = id;
  return message;
}

Message Calling(const std::string& id, const std::string& tool) {
  Message message = Answer(id, "");
  message.content.clear();
  message.content.emplace_back(
      ToolCallBlock{.id = "call_" + tool, .name = tool, .arguments_json = R"({"a":1})"});
  return message;
}

TEST(ChatView, ShowsTheTextOfAMessageOnce) {
  ChatView view(ShowTools::kHidden, {});
  EXPECT_EQ(view.OnDelta("m1", "hel", "").content, "hel");
  EXPECT_EQ(view.OnDelta("m1", "lo", "").content, "lo");
  EXPECT_TRUE(view.HasPartOf("m1"));
  EXPECT_EQ(view.OnMessage(Answer("m1", "hello")).content, "");
  EXPECT_FALSE(view.HasPartOf("m1"));
  EXPECT_EQ(view.OnMessage(Answer("m2", "again")).content, "\n\nagain");
  EXPECT_EQ(view.finish_reason(), "stop");
}

TEST(ChatView, ShowsTheRestOfAMessageThatWasCutShort) {
  ChatView view(ShowTools::kHidden, {});
  view.OnDelta("m1", "he", "think");
  Message message = Answer("m1", "hello");
  message.content.emplace_back(
      ReasoningBlock{.summary = "thinking", .details = {}, .signature = {}});
  const Piece piece = view.OnMessage(message);
  EXPECT_EQ(piece.content, "llo");
  EXPECT_EQ(piece.reasoning, "ing");
}

TEST(ChatView, CountsTheTokensOfAllCalls) {
  ChatView view(ShowTools::kHidden, {});
  for (const char* id : {"m1", "m2"}) {
    Message message = Answer(id, "x");
    message.usage = Usage{.prompt_tokens = 3, .completion_tokens = 2, .total_tokens = 5};
    view.OnMessage(message);
  }
  EXPECT_EQ(view.usage().prompt_tokens, 6);
  EXPECT_EQ(view.usage().total_tokens, 10);
}

TEST(ChatView, GivesOutTheClientsCallsUntilTheyHaveAResult) {
  ChatView view(ShowTools::kHidden, {{"weather", "", "{}"}});
  EXPECT_TRUE(view.OnMessage(Calling("m1", "weather")).empty());
  ASSERT_EQ(view.open_calls().size(), 1u);
  EXPECT_EQ(view.open_calls()[0].id, "call_weather");
  EXPECT_EQ(view.finish_reason(), "tool_calls");
  // The tool node refused the arguments.
  view.OnMessage(Message::ToolResult("call_weather", R"({"error":"no"})", true));
  EXPECT_TRUE(view.open_calls().empty());
}

TEST(ChatView, ShowsTheAgentsToolsOnlyIfAsked) {
  const Message result = Message::ToolResult("call_add", "42");
  ChatView hidden(ShowTools::kHidden, {});
  EXPECT_TRUE(hidden.OnMessage(Calling("m1", "add")).empty());
  EXPECT_TRUE(hidden.OnMessage(result).empty());
  EXPECT_EQ(hidden.finish_reason(), "stop");
  ChatView reasoning(ShowTools::kReasoning, {});
  EXPECT_EQ(reasoning.OnMessage(Calling("m1", "add")).reasoning, "\nadd {\"a\":1}\n");
  EXPECT_EQ(reasoning.OnMessage(result).reasoning, "\n-> 42\n");
  ChatView content(ShowTools::kContent, {});
  EXPECT_EQ(content.OnMessage(Calling("m1", "add")).content, "\nadd {\"a\":1}\n");
}

TEST(ChatView, ReportsWhyTheModelStopped) {
  ChatView view(ShowTools::kHidden, {});
  Message cut = Answer("m1", "hel");
  cut.metadata_json = R"({"stop_reason":"length"})";
  view.OnMessage(cut);
  EXPECT_EQ(view.finish_reason(), "length");
  view.OnMessage(Answer("m2", "hello"));
  EXPECT_EQ(view.finish_reason(), "stop");
}

}  // namespace
}  // namespace agent_graph::openai
