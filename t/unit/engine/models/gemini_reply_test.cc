#include "models/gemini_reply.h"

#include <gtest/gtest.h>

#include <string>

namespace agent_graph::models {
namespace {

class GeminiReplyTest : public ::testing::Test {
 protected:
  ModelDelta Add(const std::string& json) {
    const Result<ModelDelta> delta = builder_.Add(json);
    EXPECT_TRUE(delta.ok()) << delta.status().ToString() << " of " << json;
    return delta.ok() ? *delta : ModelDelta{};
  }
  ModelDelta AddPart(const std::string& part) {
    return Add(R"({"candidates":[{"content":{"role":"model","parts":[)" + part +
               R"(]},"index":0}],"modelVersion":"big"})");
  }
  void Stop(const std::string& reason) {
    Add(R"({"candidates":[{"finishReason":")" + reason + "\"}]}");
  }
  std::vector<ContentBlock> Finished() {
    Result<ModelReply> reply = builder_.Finish(false);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply.ok() ? std::move(reply->message.content) : std::vector<ContentBlock>();
  }

  GeminiReplyBuilder builder_;
};

TEST_F(GeminiReplyTest, TextInPieces) {
  EXPECT_EQ(AddPart(R"({"text":"Hel"})").text, "Hel");
  EXPECT_EQ(AddPart(R"({"text":"lo"},{"text":"!"})").text, "lo!");
  EXPECT_FALSE(builder_.complete());
  Stop("STOP");
  const Result<ModelReply> reply = builder_.Finish(false);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->message.content.size(), 1u);
  EXPECT_EQ(reply->message.Text(), "Hello!");
  EXPECT_EQ(reply->model, "big");
  EXPECT_EQ(reply->stop_reason, "stop");
}

TEST_F(GeminiReplyTest, CountsArgumentsAndSignaturesAsHidden) {
  EXPECT_EQ(AddPart(R"({"text":"text"})").hidden_bytes, 0u);
  EXPECT_EQ(AddPart(R"({"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"c2ln"})")
                .hidden_bytes,
            11u);
}

TEST_F(GeminiReplyTest, ThoughtsAndTheSignatureOfACall) {
  EXPECT_EQ(AddPart(R"({"text":"let me ","thought":true})").reasoning, "let me ");
  EXPECT_EQ(AddPart(R"({"text":"see","thought":true})").reasoning, "see");
  AddPart(R"({"functionCall":{"name":"f","args":{"x":1},"id":"c1"},"thoughtSignature":"c2ln"},
             {"functionCall":{"name":"g"}})");
  Stop("STOP");
  const Result<ModelReply> reply = builder_.Finish(false);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->stop_reason, "tool_calls");
  const auto& content = reply->message.content;
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(std::get<ReasoningBlock>(content[0]).summary, "let me see");
  EXPECT_EQ(std::get<ReasoningBlock>(content[0]).signature, "gemini:c2ln");
  EXPECT_EQ(std::get<ToolCallBlock>(content[1]).id, "c1");
  EXPECT_EQ(std::get<ToolCallBlock>(content[1]).arguments_json, "{\"x\":1}");
  EXPECT_EQ(std::get<ToolCallBlock>(content[2]).arguments_json, "{}");
  EXPECT_TRUE(std::get<ToolCallBlock>(content[2]).id.starts_with("call_"));
}

TEST_F(GeminiReplyTest, SignatureOnAnEmptyTextAtTheEnd) {
  AddPart(R"({"text":"Hello"})");
  AddPart(R"({"text":"","thoughtSignature":"ZW5k"})");
  Stop("STOP");
  const auto content = Finished();
  ASSERT_EQ(content.size(), 2u);
  EXPECT_EQ(std::get<TextBlock>(content[0]).text, "Hello");
  EXPECT_EQ(std::get<ReasoningBlock>(content[1]).signature, "gemini:ZW5k");
}

TEST_F(GeminiReplyTest, SignedTextStaysApart) {
  AddPart(R"({"text":"a"},{"text":"b","thoughtSignature":"c2ln"},{"text":"c"},{"text":"d"})");
  Stop("STOP");
  const auto content = Finished();
  ASSERT_EQ(content.size(), 4u);
  EXPECT_EQ(std::get<TextBlock>(content[0]).text, "a");
  EXPECT_EQ(std::get<TextBlock>(content[2]).text, "b");
  EXPECT_EQ(std::get<TextBlock>(content[3]).text, "cd");
}

TEST_F(GeminiReplyTest, SignedThought) {
  AddPart(R"({"text":"hm","thought":true},{"text":"","thought":true,"thoughtSignature":"dGh0"})");
  AddPart(R"({"text":"next","thought":true},{"text":"x","thoughtSignature":"dGV4"})");
  Stop("STOP");
  const auto content = Finished();
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(std::get<ReasoningBlock>(content[0]).signature, "gemini-thought:dGh0");
  EXPECT_EQ(std::get<ReasoningBlock>(content[1]).summary, "next");
  EXPECT_EQ(std::get<ReasoningBlock>(content[1]).signature, "gemini:dGV4");
}

TEST_F(GeminiReplyTest, UsageOfTheLastChunk) {
  Add(R"({"usageMetadata":{"promptTokenCount":20,"totalTokenCount":20}})");
  AddPart(R"({"text":"x"})");
  Stop("MAX_TOKENS");
  Add(R"({"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":5,"thoughtsTokenCount":3,
          "cachedContentTokenCount":16,"totalTokenCount":28}})");
  const Result<ModelReply> reply = builder_.Finish(false);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->stop_reason, "length");
  const Usage& usage = *reply->message.usage;
  EXPECT_EQ(usage.prompt_tokens, 20);
  EXPECT_EQ(usage.completion_tokens, 8);
  EXPECT_EQ(usage.reasoning_tokens, 3);
  EXPECT_EQ(usage.cache_read_input_tokens, 16);
  EXPECT_EQ(usage.total_tokens, 28);
}

TEST_F(GeminiReplyTest, BlockedPromptAndBlockedAnswer) {
  EXPECT_EQ(builder_.Add(R"({"promptFeedback":{"blockReason":"SAFETY"}})").status().message(),
            "the model provider blocked the prompt: SAFETY");
  Stop("SAFETY");
  const Result<ModelReply> reply = builder_.Finish(false);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->stop_reason, "content_filter");
  EXPECT_EQ(reply->message.content.size(), 1u);
}

TEST_F(GeminiReplyTest, UnreadableCallMayPass) {
  const Status status =
      builder_.Add(R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]})").status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_TRUE(builder_.failure_may_pass());
}

TEST_F(GeminiReplyTest, CallWithoutANameAndTooManyCalls) {
  EXPECT_FALSE(
      builder_.Add(R"({"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]})").ok());
  GeminiReplyBuilder many;
  Status status;
  size_t count = 0;
  while (status.ok()) {
    ++count;
    status = many.Add(R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]})")
                 .status();
  }
  EXPECT_EQ(count, kToolCallsMax + 1);
}

TEST_F(GeminiReplyTest, UnusablePartsAreSkipped) {
  AddPart(R"(7,null,{"executableCode":{"code":"x"}},{"text":7},{"thought":1,"text":"x"})");
  Add(R"({"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}}]})");
  Stop("STOP");
  const auto content = Finished();
  ASSERT_EQ(content.size(), 1u);
  EXPECT_EQ(std::get<TextBlock>(content[0]).text, "x");
}

TEST_F(GeminiReplyTest, CountsAndReasonsAreBounded) {
  Add(R"({"usageMetadata":{"promptTokenCount":9223372036854775807,
          "toolUsePromptTokenCount":9223372036854775807,"candidatesTokenCount":-7,
          "thoughtsTokenCount":9223372036854775807}})");
  AddPart(R"({"text":"x"})");
  Stop("STOP");
  const Result<ModelReply> reply = builder_.Finish(false);
  ASSERT_TRUE(reply.ok());
  EXPECT_GT(reply->message.usage->total_tokens, 0);
  GeminiReplyBuilder blocked;
  const std::string reason(100'000, 'x');
  const Status status =
      blocked.Add(R"({"promptFeedback":{"blockReason":")" + reason + R"("}})").status();
  EXPECT_LT(status.message().size(), 500u);
}

}  // namespace
}  // namespace agent_graph::models
