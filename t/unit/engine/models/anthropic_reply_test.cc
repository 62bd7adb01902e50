#include "models/anthropic_reply.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace agent_graph::models {
namespace {

class AnthropicReplyTest : public ::testing::Test {
 protected:
  ModelDelta Add(const std::string& json) {
    const Result<ModelDelta> delta = builder_.Add(json);
    EXPECT_TRUE(delta.ok()) << delta.status().ToString() << " of " << json;
    return delta.ok() ? *delta : ModelDelta{};
  }
  void Start(int index, const std::string& block) {
    Add(R"({"type":"content_block_start","index":)" + std::to_string(index) +
        R"(,"content_block":)" + block + "}");
  }
  ModelDelta Change(int index, const std::string& delta) {
    return Add(R"({"type":"content_block_delta","index":)" + std::to_string(index) +
               R"(,"delta":)" + delta + "}");
  }
  void Stop(const std::string& reason, const std::string& usage = "{}") {
    Add(R"({"type":"message_delta","delta":{"stop_reason":")" + reason + R"("},"usage":)" + usage +
        "}");
    EXPECT_TRUE(builder_.complete());
    Add(R"({"type":"message_stop"})");
    EXPECT_TRUE(builder_.ended());
  }

  AnthropicReplyBuilder builder_;
};

TEST_F(AnthropicReplyTest, BlocksInOrderWithTheirSignatures) {
  Add(R"({"type":"message_start","message":{"model":"big","content":[],"usage":{}}})");
  Start(0, R"({"type":"thinking","thinking":"","signature":""})");
  EXPECT_EQ(Change(0, R"({"type":"thinking_delta","thinking":"let me "})").reasoning, "let me ");
  EXPECT_EQ(Change(0, R"({"type":"thinking_delta","thinking":"see"})").reasoning, "see");
  Change(0, R"({"type":"signature_delta","signature":"c2ln"})");
  Start(1, R"({"type":"redacted_thinking","data":"aGlk"})");
  Start(2, R"({"type":"text","text":""})");
  EXPECT_EQ(Change(2, R"({"type":"text_delta","text":"Hello"})").text, "Hello");
  Start(3, R"({"type":"tool_use","id":"c1","name":"f","input":{}})");
  Change(3, R"({"type":"input_json_delta","partial_json":""})");
  Change(3, R"({"type":"input_json_delta","partial_json":"{\"x\":"})");
  Change(3, R"({"type":"input_json_delta","partial_json":"1}"})");
  Start(4, R"({"type":"tool_use","id":"c2","name":"g","input":{}})");
  Stop("tool_use");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->model, "big");
  EXPECT_EQ(reply->stop_reason, "tool_calls");
  const auto& content = reply->message.content;
  ASSERT_EQ(content.size(), 5u);
  EXPECT_EQ(std::get<ReasoningBlock>(content[0]).summary, "let me see");
  EXPECT_EQ(std::get<ReasoningBlock>(content[0]).signature, "anthropic:c2ln");
  EXPECT_EQ(std::get<ReasoningBlock>(content[1]).signature, "anthropic-redacted:aGlk");
  EXPECT_EQ(std::get<TextBlock>(content[2]).text, "Hello");
  EXPECT_EQ(std::get<ToolCallBlock>(content[3]).arguments_json, "{\"x\":1}");
  EXPECT_EQ(std::get<ToolCallBlock>(content[4]).arguments_json, "{}");
  EXPECT_EQ(std::get<ToolCallBlock>(content[4]).id, "c2");
}

TEST_F(AnthropicReplyTest, UsageOfStartAndEnd) {
  Add(R"({"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1,
          "cache_creation_input_tokens":20,"cache_read_input_tokens":30}}})");
  Start(0, R"({"type":"text","text":"x"})");
  Stop("end_turn", R"({"output_tokens":7,"output_tokens_details":{"thinking_tokens":4}})");
  const Usage usage = *builder_.Finish(true)->message.usage;
  EXPECT_EQ(usage.prompt_tokens, 60);
  EXPECT_EQ(usage.completion_tokens, 7);
  EXPECT_EQ(usage.total_tokens, 67);
  EXPECT_EQ(usage.cache_creation_input_tokens, 20);
  EXPECT_EQ(usage.cache_read_input_tokens, 30);
  EXPECT_EQ(usage.reasoning_tokens, 4);
}

TEST_F(AnthropicReplyTest, UsageRepeatedAtTheEnd) {
  Add(R"({"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}})");
  Stop("end_turn", R"({"input_tokens":12,"cache_read_input_tokens":5,"output_tokens":7})");
  EXPECT_EQ(builder_.Finish(true)->message.usage->prompt_tokens, 17);
}

TEST_F(AnthropicReplyTest, WholeMessage) {
  EXPECT_EQ(Add(R"({"type":"message","model":"big","stop_reason":"tool_use","content":[
      {"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Hello"},
      {"type":"tool_use","id":"c1","name":"f","input":{"x":1}}],
      "usage":{"input_tokens":1,"output_tokens":2}})")
                .text,
            "Hello");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(std::get<ReasoningBlock>(reply->message.content[0]).signature, "anthropic:c2ln");
  EXPECT_EQ(reply->message.ToolCalls()[0]->arguments_json, "{\"x\":1}");
  EXPECT_EQ(reply->message.usage->total_tokens, 3);
}

TEST_F(AnthropicReplyTest, CountsArgumentsAndSignaturesAsHidden) {
  EXPECT_EQ(Add(R"({"type":"content_block_start","index":0,
                    "content_block":{"type":"tool_use","id":"c","name":"f","input":{"x":1}}})")
                .hidden_bytes,
            7u);
  const auto added = [this](const std::string& delta) {
    return Add(R"({"type":"content_block_delta","index":0,"delta":)" + delta + "}").hidden_bytes;
  };
  EXPECT_EQ(added(R"({"type":"input_json_delta","partial_json":"{}"})"), 2u);
  Start(1, R"({"type":"redacted_thinking","data":"aGlk"})");
  EXPECT_EQ(Add(R"({"type":"content_block_start","index":2,
                    "content_block":{"type":"thinking","thinking":"hm","signature":"c2ln"}})")
                .bytes(),
            6u);
}

TEST_F(AnthropicReplyTest, RefusalWithoutAWord) {
  Add(R"({"type":"message_start","message":{}})");
  Stop("refusal");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->stop_reason, "content_filter");
  EXPECT_EQ(reply->message.Text(), "");
  EXPECT_EQ(reply->message.content.size(), 1u);
}

TEST_F(AnthropicReplyTest, ACallThatTheLimitOfTokensHasCutIsLeftOut) {
  Start(0, R"({"type":"text","text":"Let me see."})");
  Start(1, R"({"type":"tool_use","id":"c1","name":"f","input":{}})");
  Change(1, R"({"type":"input_json_delta","partial_json":"{\"x\":"})");
  Stop("max_tokens");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->stop_reason, "length");
  EXPECT_EQ(reply->message.Text(), "Let me see.");
  EXPECT_EQ(reply->message.content.size(), 1u);
}

TEST_F(AnthropicReplyTest, ArgumentsThatAreNoObject) {
  Start(0, R"({"type":"tool_use","id":"c1","name":"f","input":{}})");
  Change(0, R"({"type":"input_json_delta","partial_json":"{\"x\":"})");
  Stop("tool_use");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->message.ToolCalls().at(0)->arguments_json, R"({"INVALID_JSON":"{\"x\":"})");
}

TEST_F(AnthropicReplyTest, BlocksAreBounded) {
  Status status;
  size_t count = 0;
  while (status.ok()) {
    status = builder_
                 .Add(R"({"type":"content_block_start","index":)" + std::to_string(count++) +
                      R"(,"content_block":{"type":"tool_use","name":"f"}})")
                 .status();
  }
  EXPECT_EQ(count, kToolCallsMax + 1);
}

TEST_F(AnthropicReplyTest, UnusablePartsAreSkipped) {
  Start(0, R"({"type":"server_tool_use","id":"s"})");
  Change(0, R"({"type":"input_json_delta","partial_json":"{}"})");
  Change(9, R"({"type":"text_delta","text":"nowhere"})");
  Add(R"({"type":"content_block_start","index":"x","content_block":7})");
  Add(R"({"type":"message_delta","delta":7,"usage":7})");
  Start(1, R"({"type":"text","text":"x"})");
  Stop("end_turn");
  EXPECT_EQ(builder_.Finish(true)->message.content.size(), 1u);
}

TEST_F(AnthropicReplyTest, CountsAndIndicesAreBounded) {
  Add(R"({"type":"message_start","message":{"model":"big","usage":{
      "input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,
      "cache_creation_input_tokens":-9223372036854775808}}})");
  Add(R"({"type":"content_block_start","index":4000000000,
          "content_block":{"type":"text","text":"a"}})");
  EXPECT_EQ(Add(R"({"type":"content_block_delta","index":-1,
                    "delta":{"type":"text_delta","text":"lost"}})")
                .text,
            "");
  EXPECT_EQ(Add(R"({"type":"content_block_delta","index":4000000000,
                    "delta":{"type":"text_delta","text":"b"}})")
                .text,
            "b");
  Stop("end_turn", R"({"output_tokens":9223372036854775807})");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok());
  EXPECT_GT(reply->message.usage->total_tokens, 0);
  EXPECT_EQ(reply->message.Text(), "ab");
}

// Events that differ from the one before in a text only are not parsed.
TEST_F(AnthropicReplyTest, RepeatedPiecesGoToTheirBlock) {
  Start(0, R"({"type":"text","text":""})");
  Start(1, R"({"type":"text","text":""})");
  for (const char* text : {"a", "b", R"(\u0063)", "d"}) {
    Change(0, std::string(R"({"type":"text_delta","text":")") + text + "\"}");
  }
  EXPECT_EQ(Change(1, R"({"type":"text_delta","text":"e"})").text, "e");
  EXPECT_EQ(Change(1, R"({"type":"text_delta","text":"f"})").text, "f");
  Start(0, R"({"type":"text","text":""})");  // the index of an earlier block
  EXPECT_EQ(Change(1, R"({"type":"text_delta","text":"g"})").text, "g");
  EXPECT_EQ(Change(0, R"({"type":"text_delta","text":"h"})").text, "h");
  Stop("end_turn");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok());
  std::vector<std::string> texts;
  for (const ContentBlock& block : reply->message.content) {
    texts.push_back(std::get<TextBlock>(block).text);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"abcd", "efg", "h"}));
}

}  // namespace
}  // namespace agent_graph::models
