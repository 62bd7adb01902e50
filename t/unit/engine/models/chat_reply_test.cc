#include "models/chat_reply.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/json_fields.h"

namespace agent_graph::models {
namespace {

// Builds a reply from chunks; tests give the delta of each chunk's first choice.
class ChatReplyTest : public ::testing::Test {
 protected:
  Result<ModelDelta> Add(const std::string& json) { return builder_.Add(json); }
  Result<ModelDelta> AddDelta(const std::string& delta) {
    return Add(R"({"model":"m","choices":[{"index":0,"delta":)" + delta + "}]}");
  }
  void AddText(const std::string& text) {
    ASSERT_TRUE(AddDelta(R"({"content":")" + text + "\"}").ok());
  }
  void AddCalls(const std::vector<std::string>& pieces) {
    for (const std::string& piece : pieces) {
      const Result<ModelDelta> added = AddDelta(R"({"tool_calls":[)" + piece + "]}");
      ASSERT_TRUE(added.ok()) << added.status().ToString();
    }
  }
  void Stop(const std::string& reason) {
    ASSERT_TRUE(
        Add(R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + "\"}]}").ok());
  }
  // The calls of the reply, each as "id name arguments".
  std::vector<std::string> Calls() {
    const Result<ModelReply> reply = builder_.Finish(true);
    if (!reply.ok()) return {reply.status().ToString()};
    std::vector<std::string> calls;
    for (const ToolCallBlock* call : reply->message.ToolCalls()) {
      calls.push_back(call->id + " " + call->name + " " + call->arguments_json);
    }
    return calls;
  }

  ChatReplyBuilder builder_;
};

using Strings = std::vector<std::string>;

TEST_F(ChatReplyTest, TextInPieces) {
  EXPECT_EQ(AddDelta(R"({"role":"assistant","content":""})")->text, "");
  EXPECT_EQ(AddDelta(R"({"content":"Hel"})")->text, "Hel");
  EXPECT_EQ(AddDelta(R"({"content":"lo\u20ac"})")->text, "lo\xe2\x82\xac");
  EXPECT_EQ(AddDelta(R"({"content":null})")->text, "");
  EXPECT_FALSE(builder_.complete());
  Stop("stop");
  EXPECT_TRUE(builder_.complete());
  const Result<ModelReply> reply = builder_.Finish(false);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->message.Text(), "Hello\xe2\x82\xac");
  EXPECT_EQ(reply->message.role, Role::kAssistant);
  EXPECT_EQ(reply->model, "m");
  EXPECT_EQ(reply->stop_reason, "stop");
  EXPECT_FALSE(reply->message.usage);
}

TEST_F(ChatReplyTest, Usage) {
  AddText("x");
  Stop("length");
  ASSERT_TRUE(Add(R"({"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5,
      "total_tokens":25,"prompt_tokens_details":{"cached_tokens":16},
      "completion_tokens_details":{"reasoning_tokens":3}}})")
                  .ok());
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok() && reply->message.usage);
  const Usage& usage = *reply->message.usage;
  EXPECT_EQ(usage.prompt_tokens, 20);
  EXPECT_EQ(usage.completion_tokens, 5);
  EXPECT_EQ(usage.total_tokens, 25);
  EXPECT_EQ(usage.cache_read_input_tokens, 16);
  EXPECT_EQ(usage.reasoning_tokens, 3);
  EXPECT_EQ(reply->stop_reason, "length");
}

TEST_F(ChatReplyTest, UsageThatIsIncompleteOrNull) {
  AddText("x");
  ASSERT_TRUE(Add(R"({"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":3.0,
      "prompt_tokens_details":null}})")
                  .ok());
  ASSERT_TRUE(Add(R"({"choices":[],"usage":null})").ok());
  Stop("stop");
  EXPECT_EQ(builder_.Finish(true)->message.usage->total_tokens, 5);
}

TEST_F(ChatReplyTest, Reasoning) {
  EXPECT_EQ(AddDelta(R"({"reasoning_content":"let me "})")->reasoning, "let me ");
  EXPECT_EQ(AddDelta(R"({"reasoning":"think"})")->reasoning, "think");
  AddText("yes");
  Stop("stop");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_EQ(reply->message.content.size(), 2u);
  EXPECT_EQ(std::get<ReasoningBlock>(reply->message.content[0]).summary, "let me think");
  EXPECT_EQ(reply->message.Text(), "yes");
}

TEST_F(ChatReplyTest, CallsByIndex) {
  AddCalls({R"({"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}})",
            R"({"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}})",
            R"({"index":0,"function":{"arguments":"{\"x\":1}"}})",
            R"({"index":1,"function":{"arguments":":2}"}})"});
  Stop("tool_calls");
  EXPECT_EQ(Calls(), (Strings{"a f {\"x\":1}", "b g {\"y\":2}"}));
}

TEST_F(ChatReplyTest, CallsWithoutIndex) {
  AddCalls({R"({"id":"a","function":{"name":"f","arguments":"{\"x\""}})",
            R"({"function":{"arguments":":1}"}})",
            R"({"id":"b","function":{"name":"g","arguments":"{}"}})"});
  EXPECT_EQ(Calls(), (Strings{"a f {\"x\":1}", "b g {}"}));
}

TEST_F(ChatReplyTest, CallsWithoutIds) {
  AddCalls({R"({"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g"}})"});
  const Result<ModelReply> reply = builder_.Finish(true);
  const auto calls = reply->message.ToolCalls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->arguments_json, "{\"x\":1}");
  EXPECT_EQ(calls[1]->arguments_json, "{}");
  EXPECT_FALSE(calls[0]->id.empty());
  EXPECT_NE(calls[0]->id, calls[1]->id);
  EXPECT_EQ(reply->stop_reason, "tool_calls");
  EXPECT_EQ(reply->message.content.size(), 2u) << "no empty text beside calls";
}

// Some gateways number them like this.
TEST_F(ChatReplyTest, CallsThatShareAnIndex) {
  AddCalls({R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}})",
            R"({"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}})",
            R"({"index":0,"function":{"arguments":":2}"}})"});
  EXPECT_EQ(Calls(), (Strings{"a f {\"x\":1}", "b g {\"y\":2}"}));
}

TEST_F(ChatReplyTest, IdRepeatedOnEachPiece) {
  AddCalls({R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}})",
            R"({"index":0,"id":"a","function":{"name":"f","arguments":":1}"}})"});
  EXPECT_EQ(Calls(), Strings{"a f {\"x\":1}"});
}

TEST_F(ChatReplyTest, ArgumentsThatAreNoObject) {
  AddCalls({R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}})"});
  Stop("tool_calls");
  EXPECT_EQ(Calls(), Strings{R"(a f {"INVALID_JSON":"{\"x\":"})"});
}

// The provider's own reason is "stop".
TEST_F(ChatReplyTest, ARefusalIsNoOrdinaryAnswer) {
  EXPECT_EQ(AddDelta(R"({"role":"assistant","content":null,"refusal":""})")->text, "");
  EXPECT_EQ(AddDelta(R"({"refusal":"I can"})")->text, "I can");
  EXPECT_EQ(AddDelta(R"({"refusal":"not."})")->text, "not.");
  Stop("stop");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->message.Text(), "I cannot.");
  EXPECT_EQ(reply->stop_reason, "content_filter");
}

TEST_F(ChatReplyTest, ACallThatTheLimitOfTokensHasCutIsLeftOut) {
  AddText("Let me see.");
  AddCalls({R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}})",
            R"({"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"}})",
            R"({"index":2,"id":"c","function":{"name":"h","arguments":""}})"});
  Stop("length");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->stop_reason, "length");
  EXPECT_EQ(reply->message.Text(), "Let me see.");
  ASSERT_EQ(reply->message.ToolCalls().size(), 1u);
  EXPECT_EQ(reply->message.ToolCalls()[0]->id, "a");
}

TEST_F(ChatReplyTest, AReplyOfACutCallIsAnEmptyText) {
  AddCalls({R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}})"});
  Stop("length");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->message.content.size(), 1u);
  EXPECT_EQ(reply->message.Text(), "");
}

TEST_F(ChatReplyTest, CallWithoutAName) {
  AddCalls({R"({"index":0,"id":"a","function":{"arguments":"{}"}})"});
  EXPECT_EQ(builder_.Finish(true).status().code(), StatusCode::kModel);
}

TEST_F(ChatReplyTest, CallsAreBounded) {
  Status status;
  for (size_t i = 0; i <= kToolCallsMax && status.ok(); ++i) {
    const std::string index = std::to_string(i);
    status =
        AddDelta(R"({"tool_calls":[{"index":)" + index + R"(,"function":{"name":"f"}}]})").status();
    EXPECT_EQ(status.ok(), i < kToolCallsMax);
  }
}

TEST_F(ChatReplyTest, WholeCompletion) {
  const Result<ModelDelta> delta = Add(R"({"id":"x","object":"chat.completion","model":"big",
    "choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",
      "content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}],"refusal":null}}],
    "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}})");
  ASSERT_TRUE(delta.ok());
  EXPECT_EQ(delta->text, "Hello");
  EXPECT_EQ(builder_.Finish(true)->message.Text(), "Hello");
}

TEST_F(ChatReplyTest, OtherChoicesAreIgnored) {
  EXPECT_EQ(Add(R"({"choices":[{"index":1,"delta":{"content":"no"}}]})")->text, "");
  EXPECT_EQ(Add(R"({"choices":[{"delta":{"content":"yes"}}]})")->text, "yes");
}

TEST_F(ChatReplyTest, ErrorInPlaceOfAChunk) {
  const Status status = Add(R"({"error":{"message":"overloaded","code":503}})").status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(), "the model provider reported an error: overloaded");
  EXPECT_FALSE(Add(R"({"error":"no"})").ok());
  EXPECT_TRUE(Add(R"({"error":null,"choices":[]})").ok());
}

TEST_F(ChatReplyTest, MalformedChunks) {
  for (const std::string& text :
       {std::string("{"), std::string("nonsense"), std::string("[]"), std::string("7"),
        std::string(R"({"a":1} trailing)"), std::string(100'000, '['),
        R"({"a":)" + std::string(40, '[') + std::string(40, ']') + "}"}) {
    EXPECT_EQ(Add(text).status().code(), StatusCode::kModel) << text.substr(0, 40);
  }
}

TEST_F(ChatReplyTest, ValuesOfTheWrongType) {
  EXPECT_TRUE(Add(R"({"model":7,"usage":"x","choices":{}})").ok());
  EXPECT_TRUE(Add(R"({"choices":[7,null]})").ok());
  EXPECT_TRUE(Add(R"({"choices":[{"index":"0","delta":{"content":7,"tool_calls":[7,{}]}}]})").ok());
}

TEST_F(ChatReplyTest, LargeChunk) {
  const std::string text(500'000, 'x');
  EXPECT_EQ(AddDelta(R"({"content":")" + text + "\"}")->text, text);
}

TEST_F(ChatReplyTest, CutReply) {
  AddText("Hel");
  EXPECT_EQ(builder_.Finish(false).status().message(),
            "the model provider's reply broke off before its end");
}

TEST_F(ChatReplyTest, EmptyReply) {
  EXPECT_EQ(builder_.Finish(false).status().message(), "the model provider's reply is empty");
  EXPECT_EQ(builder_.Finish(true).status().code(), StatusCode::kModel);
}

TEST_F(ChatReplyTest, EndMarkerWithoutAReason) {
  AddText("Hello");
  EXPECT_EQ(builder_.Finish(true)->stop_reason, "stop");
}

// Data that a malicious or faulty provider may send.
TEST_F(ChatReplyTest, HostileCalls) {
  AddCalls({R"({"index":4000000000,"id":"a","function":{"name":"f","arguments":"{}"}})",
            R"({"index":-9223372036854775808,"id":"b","function":{"name":"g"}})"});
  EXPECT_EQ(Calls(), (std::vector<std::string>{"a f {}", "b g {}"}));
}

TEST_F(ChatReplyTest, CallsWithoutEndAreRefused) {
  Status status;
  for (int i = 0; i <= static_cast<int>(kToolCallsMax) && status.ok(); ++i) {
    status = AddDelta(R"({"tool_calls":[{"index":)" + std::to_string(i) +
                      R"(,"function":{"name":"f"}}]})")
                 .status();
  }
  EXPECT_EQ(status.code(), StatusCode::kModel);
}

TEST_F(ChatReplyTest, CallsWithTheSameIdAreDistinguished) {
  AddCalls({R"({"index":0,"id":"same","function":{"name":"f"}})",
            R"({"index":1,"id":"same","function":{"name":"g"}})"});
  const std::vector<std::string> calls = Calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0], "same f {}");
  EXPECT_TRUE(calls[1].starts_with("call_")) << calls[1];
}

TEST_F(ChatReplyTest, LongIdsAndNames) {
  AddCalls({R"({"index":0,"id":")" + std::string(2000, 'x') + R"(","function":{"name":"f"}})"});
  EXPECT_EQ(builder_.Finish(true).status().code(), StatusCode::kModel);
  ChatReplyBuilder named;
  ASSERT_TRUE(named
                  .Add(R"({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"[",)"
                       R"("name":")" +
                       std::string(100'000, 'n') + R"("}}]}}]})")
                  .ok());
  EXPECT_LT(named.Finish(true).status().message().size(), 300u);
}

TEST_F(ChatReplyTest, CountsAreBounded) {
  ASSERT_TRUE(Add(R"({"choices":[{"delta":{"content":"x"}}],"usage":{
      "prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807,
      "prompt_tokens_details":{"cached_tokens":-5}}})")
                  .ok());
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->message.usage->total_tokens, 2 * kCountMax);
  EXPECT_EQ(reply->message.usage->cache_read_input_tokens, 0);
}

TEST_F(ChatReplyTest, AnErrorsTextIsOneLine) {
  std::string text = R"(line\nnext\u0007)";
  for (int i = 0; i < 500; ++i) text += "é";
  const Status status = Add(R"({"error":{"message":")" + text + "\"}}").status();
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  EXPECT_TRUE(status.message().ends_with("é"));
}

TEST_F(ChatReplyTest, ValuesThatAreNotNumbers) {
  EXPECT_FALSE(Add(R"({"usage":{"prompt_tokens":NaN}})").ok());
  EXPECT_FALSE(Add(R"({"usage":{"prompt_tokens":Infinity}})").ok());
}

// Chunks that differ from the one before in a text only are not parsed.
TEST_F(ChatReplyTest, RepeatedChunksAddTheirTexts) {
  for (const char* text : {"One", " two", "", R"( \"three\")", R"( fo\u0075r)", " five"}) {
    AddText(text);
  }
  EXPECT_EQ(AddDelta(R"({"content":" six"})")->text, " six");
  EXPECT_EQ(AddDelta(R"({"content":"?","name":"x"})")->text, "?");  // a quote ends the text
  EXPECT_FALSE(AddDelta("{\"content\":\"two\nlines\"}").ok());
  Stop("stop");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->message.Text(), "One two \"three\" four five six?");
}

TEST_F(ChatReplyTest, RepeatedChunksOfReasoning) {
  EXPECT_EQ(AddDelta(R"({"content":null,"reasoning_content":"a"})")->reasoning, "a");
  EXPECT_EQ(AddDelta(R"({"content":null,"reasoning_content":"b"})")->reasoning, "b");
  EXPECT_EQ(AddDelta(R"({"content":"c","reasoning_content":null})")->text, "c");
  EXPECT_EQ(AddDelta(R"({"content":"d","reasoning_content":null})")->text, "d");
  EXPECT_EQ(AddDelta(R"({"reasoning_content":"e","reasoning":"f"})")->reasoning, "e");
  EXPECT_EQ(AddDelta(R"({"reasoning_content":"e","reasoning":"g"})")->reasoning, "e");
  EXPECT_EQ(AddDelta(R"({"reasoning_content":"","reasoning":"h"})")->reasoning, "h");
  Stop("stop");
  const Result<ModelReply> reply = builder_.Finish(true);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->message.Text(), "cd");
}

TEST_F(ChatReplyTest, ChunksThatDoMoreAreNeverTakenForRepeatedOnes) {
  EXPECT_EQ(AddDelta(R"({"content":"a"})")->text, "a");
  EXPECT_EQ(AddDelta(R"({"content":"b","refusal":"c"})")->text, "bc");
  EXPECT_EQ(AddDelta(R"({"content":"d","refusal":"e"})")->text, "de");
  const std::string call =
      R"("tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"x"}}])";
  EXPECT_EQ(AddDelta(R"({"content":"f",)" + call + "}")->text, "f");
  EXPECT_EQ(AddDelta(R"({"content":"g",)" + call + "}")->text, "g");
  const std::string usage = R"(],"usage":{"total_tokens":)";
  EXPECT_TRUE(Add(R"({"choices":[{"delta":{"content":"h"}})" + usage + "3}}")->usage);
  EXPECT_TRUE(Add(R"({"choices":[{"delta":{"content":"i"}})" + usage + "4}}")->usage);
  EXPECT_FALSE(builder_.complete());
  EXPECT_EQ(Add(R"({"choices":[{"delta":{"content":"j"},"finish_reason":"stop"}]})")->text, "j");
  EXPECT_TRUE(builder_.complete());
}

// Without it a reply with large arguments would not wait for memory.
TEST_F(ChatReplyTest, CountsArgumentsAsHidden) {
  EXPECT_EQ(AddDelta(R"({"content":"text"})")->hidden_bytes, 0u);
  const Result<ModelDelta> call =
      AddDelta(R"({"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]})");
  EXPECT_EQ(call->hidden_bytes, 2u);
  EXPECT_EQ(call->bytes(), 2u);
}

}  // namespace
}  // namespace agent_graph::models
