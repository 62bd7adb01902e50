// Results that clients send: which call each belongs to.
#include "run/context/client_results.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "message/codec.h"

namespace agent_graph::run {
namespace {

// A thread whose newest message makes these calls.
std::vector<state::StoredMessage> Waiting(const std::vector<std::string>& call_ids) {
  Message calling = Message::Assistant("");
  calling.id = "m1";
  for (const std::string& id : call_ids) {
    calling.content.emplace_back(ToolCallBlock{id, "show_map", "{}", false});
  }
  return {{"m1", 1, message::ToJsonText(calling)}};
}

Message Plain(const std::string& text) {
  Message message;
  message.role = Role::kTool;
  message.content.emplace_back(TextBlock{text});
  return message;
}

std::string ProblemOf(const std::vector<std::string>& call_ids, std::vector<Message> messages) {
  OpenInputs none;
  return MatchResults(Waiting(call_ids), messages, none).message();
}

TEST(ClientResultsTest, APlainTextIsTheResultOfTheOnlyCall) {
  std::vector<Message> messages = {Plain("here \"and\" there")};
  OpenInputs none;
  ASSERT_TRUE(MatchResults(Waiting({"c1"}), messages, none).ok());
  ASSERT_EQ(messages[0].content.size(), 1u);
  ASSERT_EQ(messages[0].ToolResults().size(), 1u);
  EXPECT_EQ(messages[0].ToolResults()[0]->call_id, "c1");
  EXPECT_EQ(messages[0].ToolResults()[0]->output_json, R"("here \"and\" there")");
  EXPECT_FALSE(messages[0].ToolResults()[0]->is_error);
}

TEST(ClientResultsTest, ProblemsNameMessageAndCalls) {
  EXPECT_EQ(ProblemOf({"c1", "c2", "c3"}, {Plain("which?")}),
            "message 0: must name in call_id which call it answers: c1, c2, c3");
  EXPECT_EQ(ProblemOf({}, {Message::User("hi"), Plain("what?")}),
            "message 1: no tool call waits for a result");
  EXPECT_EQ(ProblemOf({"c1"}, {Message::ToolResult("c2", "1")}),
            "message 0: no tool call with the id \"c2\" waits for a result");
}

TEST(ClientResultsTest, ManyResultsAreMatched) {
  constexpr int kCalls = 20'000;
  std::vector<std::string> ids;
  std::vector<Message> messages;
  for (int i = 0; i < kCalls; ++i) ids.push_back("call_" + std::to_string(i));
  for (int i = kCalls; i > 1; --i) messages.push_back(Message::ToolResult(ids[i - 1], "1"));
  messages.push_back(Plain("the last"));
  OpenInputs none;
  ASSERT_TRUE(MatchResults(Waiting(ids), messages, none).ok());
  EXPECT_EQ(messages.back().ToolResults().at(0)->call_id, "call_0");
  EXPECT_EQ(ProblemOf(ids, {messages.back(), messages.back()}),
            "message 1: no tool call with the id \"call_0\" waits for a result");
}

TEST(ClientResultsTest, ACallMayWaitAgainAfterItsResult) {
  Message again;
  again.role = Role::kTool;
  again.content.emplace_back(ToolCallBlock{"c1", "show_map", "{}", true});
  EXPECT_EQ(ProblemOf({"c1"}, {Message::ToolResult("c1", "1"), again, Plain("2")}), "");
}

TEST(ClientResultsTest, ACallThatAClientSendsBackIsNoResult) {
  Message announced;
  announced.role = Role::kTool;
  announced.content.emplace_back(ToolCallBlock{"c1", "show_map", "{}", true});
  std::vector<Message> messages = {announced, Message::ToolResult("c1", "1")};
  OpenInputs none;
  ASSERT_TRUE(MatchResults(Waiting({"c1"}), messages, none).ok());
  EXPECT_EQ(messages[0].ToolCalls().size(), 1u);
  EXPECT_TRUE(messages[0].ToolResults().empty());
}

TEST(ClientResultsTest, ResultsMayBePartsOfAMessageOfTheUser) {
  Message mixed = Message::User("there you are");
  EXPECT_FALSE(BringResults({mixed}));
  mixed.content.emplace_back(ToolResultBlock{"c1", "1", false});
  EXPECT_TRUE(BringResults({Message::User("hi"), mixed}));
  EXPECT_EQ(ProblemOf({"c1"}, {mixed}), "");
  EXPECT_EQ(ProblemOf({"c2"}, {mixed}),
            "message 0: no tool call with the id \"c1\" waits for a result");
}

TEST(ClientResultsTest, ACallOfAnAssistantMessageReplacesTheOpenOnes) {
  Message calling = Message::Assistant("");
  calling.content.emplace_back(ToolCallBlock{"c2", "show_map", "{}", false});
  EXPECT_EQ(ProblemOf({"c1"}, {calling, Message::ToolResult("c2", "1")}), "");
  EXPECT_NE(ProblemOf({"c1"}, {calling, Message::ToolResult("c1", "1")}), "");
}

// The message with the call may have been deleted while its question was open.
TEST(ClientResultsTest, AQuestionOfACallThatIsGoneCannotBeAnswered) {
  OpenInputs inputs;
  const tools::Question question{
      .key = "k", .message = "Who?", .schema = json::parse(R"({"type":"object"})"), .url = {}};
  ASSERT_TRUE(inputs.Keep({"c1", "ask", 1, {"crm", {question}, 1}, {json()}}).ok());
  std::vector<Message> messages = {Message::ToolResult("c1/1", R"({"action":"decline"})")};
  OpenInputs kept = inputs;
  EXPECT_TRUE(MatchResults(Waiting({"c1"}), messages, kept).ok());
  EXPECT_TRUE(messages.empty());
  messages = {Message::ToolResult("c1/1", R"({"action":"decline"})")};
  EXPECT_EQ(MatchResults(Waiting({"c2"}), messages, inputs).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace agent_graph::run
