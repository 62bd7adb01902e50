#include "models/chat_request.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent_graph/json.h"
#include "collect.h"
#include "models/call_options.h"

namespace agent_graph::models {
namespace {

using testing::Ask;

json Build(const ModelRequest& request, const std::string& parameters = "{}") {
  const Result<std::string> text = ChatRequestJson(request, "small", parameters);
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return json::parse(*text);
}

// The JSON that `content` of a user message becomes.
json ContentOf(std::vector<ContentBlock> content) {
  ModelRequest request;
  request.messages.push_back(testing::Of(Role::kUser, std::move(content)));
  return Build(request)["messages"][0]["content"];
}

TEST(ChatRequest, AsksForAStreamWithUsage) {
  EXPECT_EQ(Build(Ask("hi")), json::parse(R"({
    "model": "small", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "hi"}]})"));
}

TEST(ChatRequest, SystemPromptComesFirst) {
  ModelRequest request = Ask("hi");
  request.system_prompt = "be kind";
  request.messages.push_back(Message::System("and short"));
  EXPECT_EQ(Build(request)["messages"], json::parse(R"([
    {"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"},
    {"role": "system", "content": "and short"}])"));
}

TEST(ChatRequest, RequestBeatsProviderBeatsDefault) {
  ModelRequest request = Ask("hi");
  request.model = "large";
  request.parameters_json = R"({"temperature": 0.5, "top_p": null})";
  const json body = Build(request, R"({"temperature": 1, "top_p": 0.1, "seed": 7})");
  EXPECT_EQ(body["model"], "large");
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["seed"], 7);
  EXPECT_FALSE(body.contains("top_p"));
}

TEST(ChatRequest, TheOptionsOfACallBeatTheParameters) {
  CallOptions options;
  options.parameters_json = R"({"temperature":0.5,"max_tokens":9,"seed":7,"unknown":1})";
  options.tool_choice = CallOptions::ToolChoice::kNamed;
  options.tool_name = "f";
  options.parallel_tool_calls = false;
  options.format = {.kind = CallOptions::Format::Kind::kJsonSchema,
                    .name = "a",
                    .schema_json = R"({"type":"object"})",
                    .strict = true};
  ModelRequest request = Ask("hi");
  request.options = &options;
  request.tools.push_back({.name = "f", .description = ""});
  json body = Build(request, R"({"temperature":1,"max_tokens":5})");
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["max_tokens"], 5) << "a limit is only lowered";
  EXPECT_EQ(body["seed"], 7);
  EXPECT_FALSE(body.contains("unknown"));
  EXPECT_FALSE(body.contains("tool_choice")) << "it does not hold for every call";
  EXPECT_EQ(body["parallel_tool_calls"], false);
  EXPECT_EQ(body["response_format"]["json_schema"]["schema"]["type"], "object");
  request.forces_tool = true;
  EXPECT_EQ(Build(request)["tool_choice"]["function"]["name"], "f");
  body = Build(request, R"({"max_completion_tokens":20})");
  EXPECT_EQ(body["max_completion_tokens"], 9);
  EXPECT_FALSE(body.contains("max_tokens"));
}

TEST(ChatRequest, StreamMayBeSwitchedOff) {
  const json body = Build(Ask("hi"), R"({"stream": false})");
  EXPECT_EQ(body["stream"], false);
  EXPECT_FALSE(body.contains("stream_options"));
  EXPECT_FALSE(Build(Ask("hi"), R"({"stream_options": null})").contains("stream_options"));
}

TEST(ChatRequest, ParametersAreNoObject) {
  ModelRequest request = Ask("hi");
  for (const char* text : {"[]", "7", "{"}) {
    request.parameters_json = text;
    EXPECT_EQ(ChatRequestJson(request, "m", "{}").status().code(), StatusCode::kModel) << text;
  }
}

TEST(ChatRequest, ToolsAndTheirCalls) {
  ModelRequest request = Ask("time?");
  request.tools.push_back({"get_time", "the time", R"({"type": "object"})"});
  request.messages.push_back(
      testing::Of(Role::kAssistant,
                  {ReasoningBlock{.summary = "hm", .details = {}, .signature = {}},
                   ToolCallBlock{.id = "c1", .name = "get_time", .arguments_json = R"({"z":1})"}}));
  request.messages.push_back(Message::ToolResult("c1", "\"noon\""));
  request.messages.push_back(Message::ToolResult("c2", R"({"a":1})", true));
  const json body = Build(request);
  EXPECT_EQ(body["tools"], json::parse(R"([{"type": "function", "function": {
    "name": "get_time", "description": "the time", "parameters": {"type": "object"}}}])"));
  EXPECT_EQ(body["messages"][1], json::parse(R"({"role": "assistant", "content": null,
    "tool_calls": [{"id": "c1", "type": "function",
                    "function": {"name": "get_time", "arguments": "{\"z\":1}"}}]})"));
  EXPECT_EQ(body["messages"][2],
            json::parse(R"({"role": "tool", "tool_call_id": "c1", "content": "noon"})"));
  EXPECT_EQ(body["messages"][3]["content"], "Error: {\"a\":1}");
}

TEST(ChatRequest, ToolWithoutASchema) {
  ModelRequest request = Ask("hi");
  request.tools.push_back({"broken", "", "{"});
  const Status status = ChatRequestJson(request, "m", "{}").status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_NE(status.message().find("\"broken\""), std::string::npos);
}

TEST(ChatRequest, Images) {
  MediaBlock by_url{.type = MediaBlock::Type::kImage, .media = {}};
  by_url.media.url = "https://example.com/a.png";
  MediaBlock inlined = by_url;
  inlined.media.kind = MediaReference::Kind::kData;
  inlined.media.data_base64 = "QUJD";
  inlined.media.mime_type = "image/jpeg";
  EXPECT_EQ(ContentOf({TextBlock{.text = "look"}, by_url, inlined}), json::parse(R"([
    {"type": "text", "text": "look"},
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}}])"));
}

TEST(ChatRequest, AudioAndDocuments) {
  MediaBlock sound{.type = MediaBlock::Type::kAudio, .media = {}};
  sound.media.kind = MediaReference::Kind::kData;
  sound.media.data_base64 = "QUJD";
  sound.media.mime_type = "audio/mpeg";
  MediaBlock document = sound;
  document.type = MediaBlock::Type::kDocument;
  document.media.mime_type = "application/pdf";
  document.media.filename = "a.pdf";
  EXPECT_EQ(ContentOf({sound, document}), json::parse(R"([
    {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
    {"type": "file",
     "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}}])"));
}

TEST(ChatRequest, FileThatCannotBeShownIsNamed) {
  MediaBlock file{.type = MediaBlock::Type::kImage, .media = {}};
  file.media.kind = MediaReference::Kind::kFileId;
  file.media.file_id = "f00";
  EXPECT_EQ(ContentOf({file}), json::parse(R"([
    {"type": "text", "text": "[attached file f00 is not readable here]"}])"));
}

TEST(ChatRequest, EachTextBlockIsAPart) {
  const std::vector<ContentBlock> two = {TextBlock{.text = "Summarise this file"},
                                         TextBlock{.text = ""}, TextBlock{.text = "Chapter One."}};
  const json parts = json::parse(R"([{"type": "text", "text": "Summarise this file"},
                                     {"type": "text", "text": "Chapter One."}])");
  EXPECT_EQ(ContentOf(two), parts);
  for (const Role role : {Role::kSystem, Role::kAssistant}) {
    ModelRequest request = Ask("hi");
    request.messages.push_back(testing::Of(role, two));
    EXPECT_EQ(Build(request)["messages"][1]["content"], parts);
  }
}

TEST(ChatRequest, OneTextIsAString) {
  EXPECT_EQ(ContentOf({TextBlock{.text = "a"}}), "a");
  EXPECT_EQ(ContentOf({TextBlock{.text = ""}, TextBlock{.text = "a"}}), "a");
  EXPECT_EQ(ContentOf({}), "");
  EXPECT_EQ(ContentOf({TextBlock{.text = ""}}), "");
}

TEST(ChatRequest, AMessageOfResultsHasNoOtherText) {
  ModelRequest request = Ask("hi");
  request.messages.push_back(
      testing::Of(Role::kUser, {ToolResultBlock{.call_id = "c", .output_json = "1"}}));
  const json messages = Build(request)["messages"];
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1]["role"], "tool");
}

TEST(ChatRequest, InvalidUtf8IsReplaced) {
  EXPECT_EQ(ContentOf({TextBlock{.text = "a\xff"}}), "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace agent_graph::models
