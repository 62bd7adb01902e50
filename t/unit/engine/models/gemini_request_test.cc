#include "models/gemini_request.h"

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

json Build(const ModelRequest& request, const std::string& parameters = "{}",
           const std::string& model = "gemini-2.5-flash") {
  const Result<GeminiRequest> written = WriteGeminiRequest(request, model, parameters);
  EXPECT_TRUE(written.ok()) << written.status().ToString();
  return json::parse(written.ok() ? written->body : "{}");
}

TEST(GeminiRequest, PromptAndSystemInstruction) {
  ModelRequest request = Ask("hi");
  request.system_prompt = "be kind";
  request.messages.push_back(Message::System("and short"));
  EXPECT_EQ(Build(request), json::parse(R"({
    "systemInstruction": {"parts": [{"text": "be kind\n\nand short"}]},
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}]})"));
}

TEST(GeminiRequest, TextBlocksOfASystemMessageStayApart) {
  ModelRequest request = Ask("hi");
  request.messages.push_back(
      testing::Of(Role::kSystem, {TextBlock{.text = "be brief"}, TextBlock{.text = "be true"}}));
  EXPECT_EQ(Build(request)["systemInstruction"]["parts"][0]["text"], "be brief\n\nbe true");
}

TEST(GeminiRequest, ParametersArePlaced) {
  ModelRequest request = Ask("hi");
  request.parameters_json = R"({"max_tokens": 9, "stop": ["a"], "topK": null})";
  EXPECT_EQ(Build(request, R"({"temperature": 0.5, "topK": 3, "safetySettings": [1],
                               "generationConfig": {"seed": 7}})"),
            json::parse(R"({"safetySettings": [1],
    "generationConfig": {"seed": 7, "temperature": 0.5, "maxOutputTokens": 9,
                         "stopSequences": ["a"]},
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}]})"));
}

TEST(GeminiRequest, TakesTheOptionsThatItKnows) {
  CallOptions options;
  options.parameters_json = R"({"top_p":0.5,"presence_penalty":1,"max_tokens":9})";
  options.tool_choice = CallOptions::ToolChoice::kNamed;
  options.tool_name = "f";
  options.format = {.kind = CallOptions::Format::Kind::kJsonSchema,
                    .name = "a",
                    .schema_json = R"({"type":"object"})",
                    .strict = true};
  ModelRequest request = Ask("hi");
  request.options = &options;
  request.forces_tool = true;
  request.tools.push_back({.name = "f", .description = ""});
  const json body = Build(request);
  EXPECT_EQ(body["generationConfig"], json::parse(R"({"topP":0.5,"maxOutputTokens":9,
    "responseMimeType":"application/json","responseJsonSchema":{"type":"object"}})"));
  EXPECT_EQ(body["toolConfig"]["functionCallingConfig"],
            json::parse(R"({"mode":"ANY","allowedFunctionNames":["f"]})"));
}

TEST(GeminiRequest, ARequestOnlyLowersTheLimitUnderAnyOfItsNames) {
  ModelRequest request = Ask("hi");
  CallOptions options;
  request.options = &options;
  for (const char* parameters :
       {R"({"max_tokens":30})", R"({"maxOutputTokens":30})",
        R"({"generationConfig":{"maxOutputTokens":30}})",
        R"({"maxOutputTokens":30,"generationConfig":{"maxOutputTokens":1000}})"}) {
    options.parameters_json = R"({"max_tokens":100})";
    EXPECT_EQ(Build(request, parameters)["generationConfig"], json({{"maxOutputTokens", 30}}));
    options.parameters_json = R"({"max_tokens":9})";
    EXPECT_EQ(Build(request, parameters)["generationConfig"], json({{"maxOutputTokens", 9}}));
  }
}

TEST(GeminiRequest, StreamIsNoParameter) {
  EXPECT_TRUE(WriteGeminiRequest(Ask("hi"), "m", "{}")->stream);
  const Result<GeminiRequest> whole = WriteGeminiRequest(Ask("hi"), "m", R"({"stream": false})");
  EXPECT_FALSE(whole->stream);
  EXPECT_EQ(whole->body.find("stream"), std::string::npos);
}

TEST(GeminiRequest, CallsAndResultsTakeTurns) {
  const json contents = Build(AfterCalls({TextBlock{.text = "Let me see."}}))["contents"];
  ASSERT_EQ(contents.size(), 3u);
  EXPECT_EQ(contents[1], json::parse(R"({"role": "model", "parts": [
    {"text": "Let me see."},
    {"functionCall": {"id": "c1", "name": "get_time", "args": {"z": 1}}},
    {"functionCall": {"id": "functions.f:2", "name": "get_time", "args": {}}}]})"));
  EXPECT_EQ(contents[2], json::parse(R"({"role": "user", "parts": [
    {"functionResponse": {"id": "c1", "name": "get_time", "response": {"output": "noon"}}},
    {"functionResponse": {"id": "functions.f:2", "name": "get_time",
                          "response": {"error": {"a": 1}}}},
    {"text": "so?"}]})"));
}

TEST(GeminiRequest, SignaturesGoWhereTheyCameFrom) {
  const json parts = Build(AfterCalls({Thought("hm", "gemini-thought:dGh0"),
                                       Thought("so", "gemini:dGV4"), TextBlock{.text = "Let me."},
                                       Thought("", "gemini:Y2Fs")}))["contents"][1]["parts"];
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0],
            json::parse(R"({"text": "hm", "thought": true, "thoughtSignature": "dGh0"})"));
  EXPECT_EQ(parts[1], json::parse(R"({"text": "Let me.", "thoughtSignature": "dGV4"})"));
  EXPECT_EQ(parts[2]["thoughtSignature"], "Y2Fs");
  EXPECT_TRUE(parts[2].contains("functionCall"));
  EXPECT_FALSE(parts[3].contains("thoughtSignature"));
}

TEST(GeminiRequest, SignatureAtTheEndIsThatOfAnEmptyText) {
  ModelRequest request = Ask("hi");
  request.messages.push_back(
      testing::Of(Role::kAssistant, {TextBlock{.text = "Hello"}, Thought("", "gemini:ZW5k")}));
  EXPECT_EQ(Build(request)["contents"][1]["parts"],
            json::parse(R"([{"text": "Hello"}, {"text": "", "thoughtSignature": "ZW5k"}])"));
}

TEST(GeminiRequest, CallsOfOthersPassWhereSignaturesAreDemanded) {
  const ModelRequest request = AfterCalls({Thought("hm", "anthropic:c2ln")});
  for (const char* model : {"gemini-3-pro-preview", "models/gemini-3.5-flash", "gemini-10"}) {
    const json parts = Build(request, "{}", model)["contents"][1]["parts"];
    EXPECT_EQ(parts[0]["thoughtSignature"], "skip_thought_signature_validator") << model;
    EXPECT_FALSE(parts[1].contains("thoughtSignature"));
  }
  for (const char* model : {"gemini-2.5-pro", "gemini-flash-latest", "gemma-3", "gemini-"}) {
    const json parts = Build(request, "{}", model)["contents"][1]["parts"];
    EXPECT_FALSE(parts[0].contains("thoughtSignature")) << model;
  }
}

TEST(GeminiRequest, Tools) {
  ModelRequest request = Ask("hi");
  request.tools.push_back({"get_time", "the time", R"({"type": "object"})"});
  EXPECT_EQ(Build(request, R"({"tools": [{"googleSearch": {}}]})")["tools"],
            json::parse(R"([{"googleSearch": {}}, {"functionDeclarations": [
    {"name": "get_time", "description": "the time",
     "parametersJsonSchema": {"type": "object"}}]}])"));
  request.tools[0].parameters_json = "{";
  EXPECT_EQ(WriteGeminiRequest(request, "m", "{}").status().code(), StatusCode::kModel);
}

TEST(GeminiRequest, Media) {
  ModelRequest request;
  request.messages.push_back(testing::Of(
      Role::kUser,
      {testing::MediaOf(Type::kImage, "image/jpeg"), testing::MediaOf(Type::kDocument, ""),
       testing::MediaAt(Type::kVideo, "https://example.com/a.mp4", "video/mp4"),
       testing::MediaAt(Type::kAudio, "data:audio/mpeg;base64,QUJD"),
       testing::StoredFile(Type::kImage)}));
  EXPECT_EQ(Build(request)["contents"][0]["parts"], json::parse(R"([
    {"inlineData": {"mimeType": "image/jpeg", "data": "QUJD"}},
    {"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}},
    {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.com/a.mp4"}},
    {"inlineData": {"mimeType": "audio/mpeg", "data": "QUJD"}},
    {"text": "[attached file f00 is not readable here]"}])"));
}

}  // namespace
}  // namespace agent_graph::models
