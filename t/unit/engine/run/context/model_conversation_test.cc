#include "run/context/model_conversation.h"

#include <gtest/gtest.h>

namespace agent_graph::run {
namespace {

Message Calling(const std::vector<std::string>& ids) {
  Message message = Message::Assistant("");
  for (const std::string& id : ids) {
    message.content.emplace_back(ToolCallBlock{id, "tool", "{}", false});
  }
  return message;
}

std::string Sketch(const std::vector<Message>& messages) {
  std::string out;
  for (const Message& message : messages) {
    if (!out.empty()) out += " ";
    out += std::string(RoleName(message.role)).substr(0, 1);
    for (const ToolCallBlock* call : message.ToolCalls()) out += "?" + call->id;
    for (const ToolResultBlock* result : message.ToolResults()) {
      out += "=" + result->call_id + (result->is_error ? "!" : "");
    }
  }
  return out;
}

TEST(ModelConversationTest, ResultsFollowTheirCalls) {
  EXPECT_EQ(
      Sketch(ModelConversation({Message::User("hi"), Calling({"a", "b"}), Message::User("hurry"),
                                Message::ToolResult("b", "1"), Message::ToolResult("a", "2")})),
      "u a?a?b t=a t=b u");
}

TEST(ModelConversationTest, OpenCallsGetAFailedResult) {
  EXPECT_EQ(Sketch(ModelConversation({Calling({"a"}), Message::User("hi")})), "a?a t=a! u");
}

TEST(ModelConversationTest, ResultsWhoseCallWasCutOffAreLeftOut) {
  EXPECT_EQ(Sketch(ModelConversation({Message::ToolResult("a", "1"), Message::User("hi")})), "u");
}

TEST(ModelConversationTest, AResultBeforeItsCallBelongsToAnotherCall) {
  EXPECT_EQ(Sketch(ModelConversation({Calling({"a"}), Message::ToolResult("a", "1"), Calling({"a"}),
                                      Message::ToolResult("a", "2", true)})),
            "a?a t=a a?a t=a!");
}

TEST(ModelConversationTest, RemoteCallMessagesAreTheClientsOnly) {
  Message remote;
  remote.role = Role::kTool;
  remote.content.emplace_back(ToolCallBlock{"a", "tool", "{}", true});
  EXPECT_EQ(Sketch(ModelConversation({Calling({"a"}), remote, Message::ToolResult("a", "1")})),
            "a?a t=a");
}

TEST(ModelConversationTest, ResultsInAUserMessageAreMovedAndItsTextStays) {
  Message mixed = Message::User("there you are");
  mixed.content.emplace_back(ToolResultBlock{"a", "1", false});
  EXPECT_EQ(Sketch(ModelConversation({Calling({"a"}), mixed})), "a?a t=a u");
}

TEST(ModelConversationTest, TheFirstResultOfACallCounts) {
  const auto messages =
      ModelConversation({Calling({"a"}), Message::ToolResult("a", "1"),
                         Message::ToolResult("a", "2"), Message::ToolResult("a", "3")});
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1].ToolResults().at(0)->output_json, "1");
}

TEST(ModelConversationTest, AResultAnswersOneCallOnly) {
  EXPECT_EQ(Sketch(ModelConversation({Calling({"a", "a", "a"}), Message::ToolResult("a", "1"),
                                      Message::ToolResult("a", "2")})),
            "a?a?a?a t=a t=a t=a!");
  EXPECT_EQ(Sketch(ModelConversation(
                {Calling({"a"}), Calling({"a"}), Message::ToolResult("a", "1"), Calling({"a"})})),
            "a?a t=a! a?a t=a a?a t=a!");
}

TEST(ModelConversationTest, ALargeResultIsNotMultiplied) {
  const std::string output(1000, '1');
  const auto messages = ModelConversation(
      {Calling(std::vector<std::string>(8000, "a")), Message::ToolResult("a", output)});
  size_t bytes = 0;
  for (const Message& message : messages) {
    for (const ToolResultBlock* result : message.ToolResults()) bytes += result->output_json.size();
  }
  EXPECT_EQ(messages.size(), 8001u);
  EXPECT_LT(bytes, 8000 * 100u);
}

TEST(ModelConversationTest, AUserMessageOfResultsOnlyDisappears) {
  Message results = Message::User("");
  results.content = {ToolResultBlock{"a", "1", false}};
  EXPECT_EQ(Sketch(ModelConversation({Calling({"a"}), results, Message::User("go on")})),
            "a?a t=a u");
}

}  // namespace
}  // namespace agent_graph::run
