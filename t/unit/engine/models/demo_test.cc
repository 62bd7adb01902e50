#include "models/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect.h"

namespace agent_graph::models {
namespace {

using testing::Ask;
using testing::Collect;
using testing::Collected;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ModelRequest AskWithTools(std::string text) {
  ModelRequest request = Ask(std::move(text));
  request.tools.push_back({.name = "get_time", .description = "the time"});
  request.tools.push_back({.name = "add", .description = "a sum"});
  return request;
}

TEST(DemoModel, EchoesWordByWord) {
  DemoModel model;
  const Collected got = Collect(model, Ask("hello  big\nworld "));
  ASSERT_TRUE(got.reply.ok());
  EXPECT_THAT(got.texts, ElementsAre("You", " said:", " hello", "  big", "\nworld "));
  EXPECT_EQ(got.reply->message.Text(), "You said: hello  big\nworld ");
  EXPECT_EQ(got.reply->message.role, Role::kAssistant);
  EXPECT_EQ(got.reply->stop_reason, "stop");
  EXPECT_EQ(got.reply->model, "demo");
}

TEST(DemoModel, TextBlocksStayApart) {
  DemoModel model;
  ModelRequest request;
  request.messages.push_back(
      testing::Of(Role::kUser, {TextBlock{.text = "this file"}, TextBlock{.text = "Chapter"}}));
  const Collected got = Collect(model, request);
  EXPECT_EQ(got.reply->message.Text(), "You said: this file\nChapter");
  EXPECT_EQ(got.reply->message.usage->prompt_tokens, 3);
}

TEST(DemoModel, CountsWords) {
  DemoModel model;
  ModelRequest request = Ask("one two three");
  request.system_prompt = "be kind";
  const Collected got = Collect(model, request);
  EXPECT_EQ(got.reply->message.usage->prompt_tokens, 5);
  EXPECT_EQ(got.reply->message.usage->completion_tokens, 5);
  EXPECT_EQ(got.reply->message.usage->total_tokens, 10);
}

TEST(DemoModel, CallsADeclaredTool) {
  DemoModel model;
  const Collected got = Collect(model, AskWithTools("call add {\"a\": 1, \"b\": 2}"));
  ASSERT_TRUE(got.reply.ok());
  EXPECT_THAT(got.texts, IsEmpty());
  EXPECT_EQ(got.reply->stop_reason, "tool_calls");
  const auto calls = got.reply->message.ToolCalls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->id, "call_1");
  EXPECT_EQ(calls[0]->name, "add");
  EXPECT_EQ(calls[0]->arguments_json, R"({"a":1,"b":2})");
  EXPECT_TRUE(got.reply->message.usage.has_value());
}

TEST(DemoModel, CallsSeveralToolsWithContinuingIds) {
  DemoModel model;
  ModelRequest request = AskWithTools("call add");
  request.messages.push_back(
      testing::Of(Role::kAssistant, {ToolCallBlock{.id = "call_1", .name = "add"}}));
  request.messages.push_back(Message::ToolResult("call_1", "3"));
  request.messages.push_back(
      Message::User("Hello\ncall get_time\r\ncall add {}\nplease\ncall add"));
  const Collected got = Collect(model, request);
  const auto calls = got.reply->message.ToolCalls();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0]->id, "call_2");
  EXPECT_EQ(calls[0]->name, "get_time");
  EXPECT_EQ(calls[0]->arguments_json, "{}");
  EXPECT_EQ(calls[1]->id, "call_3");
  EXPECT_EQ(calls[2]->id, "call_4");
}

TEST(DemoModel, CallsOfTwoConversationsHaveDifferentIds) {
  DemoModel model;
  const auto id_after = [&](const std::string& message_id) {
    ModelRequest request = AskWithTools("call add");
    request.messages.back().id = message_id;
    const Collected got = Collect(model, request);
    return got.reply->message.ToolCalls().at(0)->id;
  };
  EXPECT_EQ(id_after("a"), id_after("a"));
  EXPECT_NE(id_after("a"), id_after("b"));
}

TEST(DemoModel, EchoesTextsThatAreNotCalls) {
  DemoModel model;
  for (const char* text : {"call", "call unknown {}", "call add {broken", "call add [1]", "calladd",
                           "please call add"}) {
    const Collected got = Collect(model, AskWithTools(text));
    EXPECT_EQ(got.reply->message.Text(), std::string("You said: ") + text);
  }
}

TEST(DemoModel, AnswersWithTheResultsOfItsTools) {
  DemoModel model;
  ModelRequest request = Ask("call add");
  request.messages.push_back(Message::Assistant(""));
  request.messages.push_back(Message::ToolResult("1", "\"it is noon\""));
  request.messages.push_back(Message::ToolResult("2", "{\"sum\":3}"));
  request.messages.push_back(Message::ToolResult("3", "\"no such city\"", true));
  const Collected got = Collect(model, request);
  EXPECT_EQ(got.reply->message.Text(), "it is noon\n{\"sum\":3}\nError: no such city");
}

TEST(DemoModel, WaitsBetweenWords) {
  DemoModel model("{\"delay_ms\": 1}");
  EXPECT_EQ(Collect(model, Ask("a b")).texts.size(), 4u);

  ModelRequest wrong = Ask("a");
  wrong.parameters_json = "{\"delay_ms\": -1}";
  EXPECT_EQ(Collect(model, wrong).reply.status().code(), StatusCode::kModel);
  wrong.parameters_json = "{\"dialog\": 1}";
  EXPECT_EQ(Collect(model, wrong).reply.status().message(), "dialog must be true or false");
}

TEST(DemoModel, EndsWhenCancelled) {
  DemoModel model;
  const runtime::Cancellation cancellation;
  const auto reply = model.Generate(Ask("a b c"), cancellation, [&](const ModelDelta&) {
    cancellation.Cancel(runtime::CancelReason::kStopped);
    return Status::Ok();
  });
  EXPECT_EQ(reply.status().code(), StatusCode::kCancelled);
}

TEST(DemoModel, EndsWhenTheListenerFails) {
  DemoModel model;
  int deltas = 0;
  const auto reply = model.Generate(Ask("a b c"), {}, [&](const ModelDelta&) {
    ++deltas;
    return Status(StatusCode::kUnavailable, "gone");
  });
  EXPECT_EQ(reply.status().message(), "gone");
  EXPECT_EQ(deltas, 1);
}

TEST(DemoModel, EndsAtTheDeadline) {
  DemoModel model;
  ModelRequest request = Ask("a b c");
  request.deadline = MonotonicClock::now();
  EXPECT_EQ(Collect(model, request).reply.status().code(), StatusCode::kDeadlineExceeded);
}

TEST(DemoModel, HasNothingToAnswer) {
  DemoModel model;
  EXPECT_EQ(Collect(model, ModelRequest{}).reply.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace agent_graph::models
