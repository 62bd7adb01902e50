#include "facades/openai/chat_messages.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "facades/openai/chat_shapes.h"

namespace agent_graph::openai {
namespace {

const settings::MediaUrls kAllUrls;

// Reads the messages as the route does: the table of fields is checked first.
std::vector<Message> Read(const char* messages, std::vector<std::string>* location = nullptr) {
  json body = {{"model", "m"}, {"messages", json::parse(messages)}};
  api::Problems problems;
  api::CheckFields(body, kChatBody.fields, {"body"}, problems);
  std::vector<Message> read;
  if (problems.empty()) {
    read = ReadChatMessages(body["messages"], 0, {kAllUrls, 0, 1000}, problems);
  }
  EXPECT_EQ(problems.empty(), location == nullptr);
  if (location != nullptr && !problems.empty()) {
    *location = std::move(problems).Error().details.front().location;
  }
  return read;
}

std::string ProblemIn(const char* messages) {
  std::vector<std::string> location;
  Read(messages, &location);
  std::string path;
  for (const std::string& part : location) path += (path.empty() ? "" : ".") + part;
  return path;
}

TEST(ReadChatMessages, TakesTextsAndRoles) {
  const std::vector<Message> messages = Read(R"([
    {"role": "developer", "content": "be brief"},
    {"role": "system", "content": [{"type": "text", "text": "be "}, {"type": "text", "text": "kind"}]},
    {"role": "user", "content": "hi", "name": "eve"},
    {"role": "assistant", "content": "hello"}])");
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].role, Role::kSystem);
  EXPECT_EQ(messages[1].Text(), "be kind");
  EXPECT_EQ(messages[2].role, Role::kUser);
  EXPECT_EQ(messages[3].role, Role::kAssistant);
  EXPECT_EQ(messages[3].Text(), "hello");
}

TEST(ReadChatMessages, TakesARefusalAsText) {
  const std::vector<Message> messages = Read(R"([
    {"role": "assistant", "content": null, "refusal": "I cannot"},
    {"role": "assistant", "content": "hello", "refusal": null}])");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].Text(), "I cannot");
  EXPECT_EQ(messages[1].Text(), "hello");
}

// Clients send null, nothing, a text or parts beside calls.
TEST(ReadChatMessages, TakesCallsAndResults) {
  for (const char* content :
       {"", R"("content": null,)", R"("content": "wait",)", R"("content": [],)"}) {
    const std::string text = std::string(R"([{"role": "assistant", )") + content +
                             R"("tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "f", "arguments": "{\"a\": 1}"}}, {"id": "c2", "type": "function",
        "function": {"name": "g", "arguments": ""}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "fine \"quoted\""},
      {"role": "tool", "tool_call_id": "c2",
       "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}])";
    const std::vector<Message> messages = Read(text.c_str());
    ASSERT_EQ(messages.size(), 3u);
    const auto calls = messages[0].ToolCalls();
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0]->arguments_json, R"({"a":1})");
    EXPECT_EQ(calls[1]->arguments_json, "{}");
    EXPECT_EQ(messages[1].role, Role::kTool);
    EXPECT_EQ(messages[1].ToolResults()[0]->call_id, "c1");
    EXPECT_EQ(messages[1].ToolResults()[0]->output_json, R"("fine \"quoted\"")");
    EXPECT_EQ(messages[2].ToolResults()[0]->output_json, R"("x\ny")");
  }
}

TEST(ReadChatMessages, TakesFiles) {
  const std::vector<Message> messages = Read(R"([{"role": "user", "content": [
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
    {"type": "file", "file": {"file_id": "f-1"}}]}])");
  ASSERT_EQ(messages.size(), 1u);
  std::vector<MediaBlock> blocks;
  for (const ContentBlock& block : messages[0].content)
    blocks.push_back(std::get<MediaBlock>(block));
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[0].media.mime_type, "image/png");
  EXPECT_EQ(blocks[0].media.data_base64, "aGk=");
  EXPECT_EQ(blocks[1].media.url, "https://example.com/a.png");
  EXPECT_EQ(blocks[2].type, MediaBlock::Type::kAudio);
  EXPECT_EQ(blocks[2].media.mime_type, "audio/mpeg");
  EXPECT_EQ(blocks[3].type, MediaBlock::Type::kDocument);
  EXPECT_EQ(blocks[3].media.filename, "a.pdf");
  EXPECT_EQ(blocks[4].media.file_id, "f-1");
}

TEST(ReadChatMessages, NamesWhatIsWrong) {
  EXPECT_EQ(ProblemIn(R"([{"role": "user"}])"), "body.messages.0.content");
  EXPECT_EQ(ProblemIn(R"([{"role": "user", "content": 7}])"), "body.messages.0.content");
  EXPECT_EQ(ProblemIn(R"([{"role": "robot", "content": "x"}])"), "body.messages.0.role");
  EXPECT_EQ(ProblemIn(R"([{"role": "user", "content": [{"type": "video"}]}])"),
            "body.messages.0.content.0.type");
  EXPECT_EQ(ProblemIn(R"([{"role": "user", "content": ["text"]}])"), "body.messages.0.content.0");
  EXPECT_EQ(ProblemIn(R"([{"role": "system", "content": [{"type": "file", "file": {}}]}])"),
            "body.messages.0.content.0.type");
  EXPECT_EQ(ProblemIn(R"([{"role": "user", "content": [
              {"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}]}])"),
            "body.messages.0.content.0.image_url.url");
  EXPECT_EQ(ProblemIn(R"([{"role": "tool", "content": "x"}])"), "body.messages.0.tool_call_id");
  EXPECT_EQ(ProblemIn(R"([{"role": "tool", "tool_call_id": "c", "content": [
              {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}])"),
            "body.messages.0.content.0.type");
}

TEST(TailOf, IsBehindTheLastAnswer) {
  EXPECT_EQ(TailOf(json::parse(R"([{"role": "user"}])")), 0u);
  EXPECT_EQ(TailOf(json::parse(R"([{"role": "user"}, {"role": "assistant"}, {"role": "tool"}])")),
            2u);
  EXPECT_EQ(TailOf(json::parse(R"([{"role": "user"}, {"role": "assistant"}])")), 2u);
}

}  // namespace
}  // namespace agent_graph::openai
