#include "models/anthropic_request.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "conversation.h"
#include "models/call_options.h"

namespace agent_graph::models {
namespace {

using testing::AfterCalls;
using testing::Ask;
using testing::Thought;
using Type = MediaBlock::Type;

json Build(const ModelRequest& request, const std::string& parameters = "{}") {
  const Result<std::string> text = AnthropicRequestJson(request, "small", parameters);
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return json::parse(text.ok() ? *text : "{}");
}

json ContentOf(std::vector<ContentBlock> content) {
  ModelRequest request;
  request.messages.push_back(testing::Of(Role::kUser, std::move(content)));
  return Build(request)["messages"][0]["content"];
}

TEST(AnthropicRequest, AsksForAStream) {
  EXPECT_EQ(Build(Ask("hi")), json::parse(R"({
    "model": "small", "stream": true, "max_tokens": 8192,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]})"));
}

TEST(AnthropicRequest, TakesTheOptionsThatItKnows) {
  CallOptions options;
  options.parameters_json = R"({"temperature":0.5,"seed":7,"max_tokens":9,"stop":["a"]})";
  options.tool_choice = CallOptions::ToolChoice::kNamed;
  options.tool_name = "f";
  options.parallel_tool_calls = false;
  ModelRequest request = Ask("hi");
  request.options = &options;
  request.forces_tool = true;
  request.tools.push_back({.name = "f", .description = ""});
  const json body = Build(request);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["max_tokens"], 9);
  EXPECT_EQ(body["stop_sequences"], json::array({"a"}));
  EXPECT_FALSE(body.contains("seed"));
  EXPECT_EQ(body["tool_choice"],
            json::parse(R"({"type":"tool","name":"f","disable_parallel_tool_use":true})"));
}

TEST(AnthropicRequest, SystemMessagesComeFirst) {
  ModelRequest request = Ask("hi");
  request.system_prompt = "be kind";
  request.messages.push_back(Message::System("and short"));
  const json body = Build(request);
  EXPECT_EQ(body["system"], "be kind\n\nand short");
  EXPECT_EQ(body["messages"].size(), 1u);
}

TEST(AnthropicRequest, TextBlocksOfASystemMessageStayApart) {
  ModelRequest request = Ask("hi");
  request.messages.push_back(
      testing::Of(Role::kSystem, {TextBlock{.text = "be brief"}, TextBlock{.text = "be true"}}));
  EXPECT_EQ(Build(request)["system"], "be brief\n\nbe true");
}

TEST(AnthropicRequest, Parameters) {
  ModelRequest request = Ask("hi");
  request.parameters_json = R"({"stop": "END", "top_p": null, "stream": false})";
  const json body = Build(request, R"({"top_p": 1, "max_tokens": 5})");
  EXPECT_EQ(body["stop_sequences"], json({"END"}));
  EXPECT_FALSE(body.contains("stop"));
  EXPECT_FALSE(body.contains("top_p"));
  EXPECT_EQ(body["stream"], false);
  EXPECT_EQ(body["max_tokens"], 5);
  EXPECT_EQ(Build(Ask("hi"), R"({"max_tokens": null})")["max_tokens"], 8192);
}

TEST(AnthropicRequest, ThinkingHasRoomBesideTheAnswer) {
  const std::string thinking = R"("thinking": {"type": "enabled", "budget_tokens": 10000})";
  EXPECT_EQ(Build(Ask("hi"), "{" + thinking + "}")["max_tokens"], 18192);
  EXPECT_EQ(Build(Ask("hi"), "{" + thinking + R"(, "max_tokens": 12000})")["max_tokens"], 12000);
  EXPECT_EQ(Build(Ask("hi"), "{" + thinking + R"(, "max_tokens": 8192})")["max_tokens"], 8192);
}

// The API refuses thinking with a limit below its budget, a temperature or a forced tool.
TEST(AnthropicRequest, ThinkingFitsTheOptionsOfTheRequest) {
  CallOptions options;
  ModelRequest request = Ask("hi");
  request.options = &options;
  request.tools.push_back({.name = "f", .description = ""});
  const auto build = [&](const std::string& chosen, const std::string& more = "") {
    options.parameters_json = chosen;
    return Build(request,
                 R"({"thinking": {"type": "enabled", "budget_tokens": 4000})" + more + "}");
  };
  EXPECT_EQ(build("{}")["max_tokens"], 12192);
  json body = build(R"({"max_tokens": 8192, "temperature": 0.5, "top_p": 0.5})");
  EXPECT_EQ(body["max_tokens"], 8192);
  EXPECT_EQ(body["thinking"]["budget_tokens"], 4000);
  EXPECT_FALSE(body.contains("temperature") || body.contains("top_p"));
  body = build(R"({"max_tokens": 3000})");
  EXPECT_EQ(body["max_tokens"], 3000);
  EXPECT_EQ(body["thinking"]["budget_tokens"], 1500);
  body = build(R"({"max_tokens": 2000, "temperature": 0.5})");
  EXPECT_EQ(body["max_tokens"], 2000);
  EXPECT_FALSE(body.contains("thinking"));
  EXPECT_EQ(body["temperature"], 0.5);
  // With interleaved thinking the operator may configure a budget above the limit.
  EXPECT_EQ(build(R"({"max_tokens": 3000})", R"(,"max_tokens": 2000)")["thinking"]["budget_tokens"],
            4000);
  options.tool_choice = CallOptions::ToolChoice::kRequired;
  request.forces_tool = true;
  body = build(R"({"temperature": 0.5})");
  EXPECT_FALSE(body.contains("thinking"));
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["tool_choice"]["type"], "any");
}

TEST(AnthropicRequest, CallsAndResultsTakeTurns) {
  const json messages =
      Build(AfterCalls({Thought("hm", "anthropic:c2ln"), Thought("", "anthropic-redacted:aGlk"),
                        TextBlock{.text = "Let me see."}, TextBlock{.text = ""}}))["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1], json::parse(R"({"role": "assistant", "content": [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "aGlk"},
    {"type": "text", "text": "Let me see."},
    {"type": "tool_use", "id": "c1", "name": "get_time", "input": {"z": 1}},
    {"type": "tool_use", "id": "functions_f_2", "name": "get_time", "input": {}}]})"));
  EXPECT_EQ(messages[2], json::parse(R"({"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "c1", "content": "noon"},
    {"type": "tool_result", "tool_use_id": "functions_f_2", "content": "{\"a\":1}",
     "is_error": true},
    {"type": "text", "text": "so?"}]})"));
}

TEST(AnthropicRequest, BlankTextIsLeftOut) {
  ModelRequest request = AfterCalls({TextBlock{.text = " \n"}});
  request.system_prompt = "\t";
  request.messages[0].content.emplace_back(TextBlock{.text = "\u00a0"});
  request.messages[2] = Message::ToolResult("c1", R"(" ")");
  request.messages[3] = Message::ToolResult("functions.f:2", R"("")", true);
  const json body = Build(request);
  EXPECT_FALSE(body.contains("system"));
  const json& messages = body["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0]["content"], json::parse(R"([{"type": "text", "text": "time?"}])"));
  EXPECT_EQ(messages[1]["content"][0]["type"], "tool_use");
  EXPECT_EQ(messages[2]["content"][0]["content"], R"(" ")");
  EXPECT_EQ(messages[2]["content"][1]["content"], R"("")");
}

TEST(AnthropicRequest, AMessageOfBlanksIsStillATurn) {
  ModelRequest request = Ask(" ");
  request.messages.push_back(Message::Assistant("\n"));
  EXPECT_EQ(Build(request)["messages"], json::parse(R"([
    {"role": "user", "content": [{"type": "text", "text": "[empty message]"}]}])"));
  request.messages[1] = Message::Assistant("yes?");
  request.messages.push_back(Message::User(""));
  const json messages = Build(request)["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[2]["content"][0]["text"], "[empty message]");
}

TEST(AnthropicRequest, ReasoningOfOtherProvidersIsNotSent) {
  const json messages =
      Build(AfterCalls({Thought("hm", "gemini:c2ln"), Thought("unsigned", "")}))["messages"];
  EXPECT_EQ(messages[1]["content"][0]["type"], "tool_use");
}

TEST(AnthropicRequest, Tools) {
  ModelRequest request = Ask("hi");
  request.tools.push_back({"get_time", "the time", R"({"type": "object"})"});
  EXPECT_EQ(Build(request, R"({"tools": [{"type": "web_search", "name": "web"}]})")["tools"],
            json::parse(R"([{"type": "web_search", "name": "web"},
    {"name": "get_time", "description": "the time", "input_schema": {"type": "object"}}])"));
  request.tools[0].parameters_json = "{";
  EXPECT_EQ(AnthropicRequestJson(request, "m", "{}").status().code(), StatusCode::kModel);
}

TEST(AnthropicRequest, Images) {
  EXPECT_EQ(ContentOf({testing::MediaAt(Type::kImage, "https://example.com/a.png"),
                       testing::MediaAt(Type::kImage, "data:image/gif;base64,QUJD"),
                       testing::MediaOf(Type::kImage, "image/jpeg")}),
            json::parse(R"([
    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "QUJD"}},
    {"type": "image",
     "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}}])"));
}

TEST(AnthropicRequest, Documents) {
  EXPECT_EQ(ContentOf({testing::MediaOf(Type::kDocument, "application/pdf", "a.pdf"),
                       testing::MediaOf(Type::kDocument, "text/markdown"),
                       testing::MediaAt(Type::kDocument, "https://example.com/a.pdf")}),
            json::parse(R"([
    {"type": "document", "title": "a.pdf",
     "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ABC"}},
    {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}])"));
}

TEST(AnthropicRequest, FilesThatCannotBeShownAreNamed) {
  const json named = {{"type", "text"}, {"text", "[attached file f00 is not readable here]"}};
  for (const Type type : {Type::kImage, Type::kDocument, Type::kAudio, Type::kVideo}) {
    EXPECT_EQ(ContentOf({testing::StoredFile(type)})[0], named);
  }
  EXPECT_EQ(ContentOf({testing::MediaOf(Type::kAudio, "audio/wav", "a.wav")})[0]["text"],
            "[attached file a.wav is not readable here]");
  EXPECT_EQ(ContentOf({testing::MediaOf(Type::kDocument, "application/zip", "a.zip")})[0]["text"],
            "[attached file a.zip is not readable here]");
}

}  // namespace
}  // namespace agent_graph::models
