#include "message/codec.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::message {
namespace {

Message Read(const std::string& text) {
  auto message = FromJson(json::parse(text), "messages.0");
  EXPECT_TRUE(message.ok()) << message.status().ToString();
  return message.ok() ? *message : Message();
}

std::string Problem(const std::string& text) {
  auto message = FromJson(json::parse(text), "messages.0");
  return message.ok() ? "accepted" : message.status().message();
}

TEST(CodecTest, ContentMayBeAStringAndIsEmittedAsAnArray) {
  Message message = Read(R"({"role":"user","content":"hi"})");
  EXPECT_EQ(message.Text(), "hi");
  EXPECT_EQ(ToJson(message)["content"],
            json::parse(R"([{"type":"text","text":"hi","annotations":[]}])"));
}

TEST(CodecTest, EveryKeyIsEmitted) {
  json value = ToJson(Message::User("hi"));
  for (const char* key : {"message_id", "role", "content", "delta", "tools_calls", "reasoning",
                          "timestamp", "metadata", "usages", "raw"}) {
    EXPECT_TRUE(value.contains(key)) << key;
  }
  EXPECT_EQ(value["delta"], false);
  EXPECT_TRUE(value["message_id"].is_string());
}

TEST(CodecTest, PlaceholderIdsAreEmpty) {
  for (const char* id : {"0", "\"0\"", "\"\"", "null"}) {
    EXPECT_EQ(Read(std::string(R"({"role":"user","content":"x","message_id":)") + id + "}").id, "");
  }
  EXPECT_EQ(Read(R"({"role":"user","content":"x"})").id, "");
  EXPECT_EQ(Read(R"({"role":"user","content":"x","message_id":17})").id, "17");
  EXPECT_EQ(Read(R"({"role":"user","content":"x","message_id":"a b"})").id, "a b");
}

TEST(CodecTest, StoredIdsStay) {
  Message message = Message::User("x");
  message.id = "0";
  EXPECT_EQ(FromJsonText(ToJsonText(message)).value().id, "0");
}

TEST(CodecTest, FlatAndNestedMediaAreTheSame) {
  Message flat = Read(
      R"({"role":"user","content":[{"type":"image","file_id":"f1","mime_type":"image/png","alt_text":"a"}]})");
  Message nested = Read(R"({"role":"user","content":[{"type":"image","alt_text":"a",
      "media":{"kind":"file_id","file_id":"f1","mime_type":"image/png"}}]})");
  EXPECT_EQ(ToJsonText(flat), ToJsonText(nested));
  json block = ToJson(flat)["content"][0];
  EXPECT_EQ(block, json::parse(R"({"type":"image","alt_text":"a",
      "media":{"kind":"file_id","file_id":"f1","mime_type":"image/png"}})"));
}

TEST(CodecTest, MediaKeepsWhatItDoesNotKnow) {
  std::string text = R"({"role":"user","content":[{"type":"document","pages":[1,2],"media":{
      "kind":"url","url":"https://a/b.pdf","sha256":"00","size_bytes":12,"width":3}}]})";
  json block = ToJson(Read(text))["content"][0];
  EXPECT_EQ(block, json::parse(text)["content"][0]);
}

TEST(CodecTest, OpenAiToolCallsBecomeBlocks) {
  Message message = Read(R"({"role":"assistant","content":null,"tools_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]})");
  ASSERT_EQ(message.ToolCalls().size(), 1u);
  EXPECT_EQ(message.ToolCalls()[0]->arguments_json, R"({"a":1})");
  json value = ToJson(message);
  EXPECT_EQ(value["tools_calls"][0]["function"]["arguments"], R"({"a":1})");
  EXPECT_EQ(value["content"][0]["args"], json({{"a", 1}}));
}

TEST(CodecTest, CallThatIsABlockTooIsReadOnce) {
  Message message = Read(R"({"role":"assistant",
      "content":[{"type":"tool_call","id":"c1","name":"f","args":{"a":1}}],
      "tools_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]})");
  EXPECT_EQ(message.ToolCalls().size(), 1u);
}

TEST(CodecTest, TwoCallsOfAMessageHaveDifferentIds) {
  const std::string text = R"({"role":"assistant","content":[
      {"type":"tool_call","id":"c1","name":"f"},{"type":"remote_tool_call","id":"c1","name":"g"}]})";
  EXPECT_EQ(Problem(text), "messages.0.content.1.id: is the id of another call of this message");
  auto stored = FromJsonText(text);
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  EXPECT_EQ(stored->ToolCalls().size(), 2u);
}

TEST(CodecTest, ToolResults) {
  Message message = Read(R"({"role":"tool","content":[
      {"type":"tool_result","call_id":"c1"},
      {"type":"tool_result","call_id":"c2","output":{"error":"x"},"status":"failed","is_error":false}]})");
  auto results = message.ToolResults();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]->output_json, "null");
  EXPECT_FALSE(results[0]->is_error);
  EXPECT_TRUE(results[1]->is_error);
  EXPECT_EQ(ToJson(message)["content"][1]["status"], "failed");
}

TEST(CodecTest, RoundTripKeepsEverything) {
  Message message = Read(R"({"message_id":"m1","role":"assistant","timestamp":1781611200.25,
      "metadata":{"k":[1,{"z":null}]},"unknown":1,
      "usages":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25,"audio_tokens":0},
      "content":[{"type":"reasoning","summary":"s","details":["a","b"],"signature":"sig"},
        {"type":"text","text":"\u00e9\n\"\\\u0001","annotations":[{"url":"u"}]},
        {"type":"remote_tool_call","id":"c","name":"n","args":{"x":1.5}},
        {"type":"annotation","kind":"note","refs":[]}]})");
  std::string text = ToJsonText(message);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  auto again = FromJsonText(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(ToJsonText(*again), text);
  EXPECT_EQ(again->usage->total_tokens, 25);
  EXPECT_EQ(again->timestamp, 1781611200.25);
  json value = json::parse(text);
  EXPECT_EQ(value["reasoning"], "s");
  EXPECT_EQ(value["content"][3]["kind"], "note");
  EXPECT_EQ(value["content"][2]["tool_type"], "remote");
}

TEST(CodecTest, ReasoningStaysWhereItStood) {
  Message message = Read(R"({"role":"assistant","content":"x","reasoning":"because"})");
  ASSERT_EQ(message.content.size(), 1u);
  EXPECT_EQ(ToJson(message)["reasoning"], "because");
  const std::string text = ToJsonText(message);
  auto again = FromJsonText(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->reasoning, "because");
  EXPECT_EQ(ToJsonText(*again), text);
  EXPECT_EQ(ToJson(Read(R"({"role":"assistant","content":"x","reasoning":""})"))["reasoning"],
            json());
}

TEST(CodecTest, ReasoningOfBlocksIsShownBesideThem) {
  const std::string block = R"("content":[{"type":"reasoning","summary":"because"}])";
  Message message = Read(R"({"role":"assistant",)" + block + "}");
  EXPECT_EQ(ToJson(message)["reasoning"], "because");
  // A client sends back what it has read.
  Message echoed = Read(ToJsonText(message));
  EXPECT_EQ(echoed.reasoning, "");
  EXPECT_EQ(ToJsonText(echoed), ToJsonText(message));
  Message both = Read(R"({"role":"assistant","reasoning":"in short",)" + block + "}");
  EXPECT_EQ(ToJson(both)["reasoning"], "in short");
  EXPECT_EQ(ToJson(both)["content"][0]["summary"], "because");
  EXPECT_EQ(FromJsonText(ToJsonText(both))->reasoning, "in short");
}

TEST(CodecTest, BlocksThatAreKeptAsTheyCame) {
  for (const char* block :
       {R"({"type":"data","mime_type":"text/csv","data_base64":"YQ=="})",
        R"({"type":"data","mime_type":"text/csv"})",
        R"({"type":"annotation","kind":"citation","refs":[{"url":"https://a.example"}]})",
        R"({"type":"error","message":"out of paper","code":"E1","data":{"tray":2}})"}) {
    Message message = Read(R"({"role":"user","content":[)" + std::string(block) + "]}");
    EXPECT_EQ(ToJson(message)["content"][0], json::parse(block));
  }
}

TEST(CodecTest, IntegersMayBeWrittenAsFractions) {
  Message message = Read(R"({"role":"user","content":"x",
      "usages":{"prompt_tokens":25.0,"total_tokens":9223372036854775807}})");
  EXPECT_EQ(message.usage->prompt_tokens, 25);
  EXPECT_EQ(message.usage->total_tokens, INT64_MAX);
}

TEST(CodecTest, MillisecondsAreRecognised) {
  EXPECT_EQ(Read(R"({"role":"user","content":"x","timestamp":1781611200250})").timestamp,
            1781611200.25);
}

TEST(CodecTest, OddPartsFromUserCodeStayReadable) {
  Message message;
  message.role = Role::kTool;
  message.metadata_json = "[1]";
  message.timestamp = std::numeric_limits<double>::quiet_NaN();
  message.content.emplace_back(TextBlock{"bad \xff utf8", "nonsense"});
  message.content.emplace_back(ToolResultBlock{"", "sunny, not JSON", false});
  message.content.emplace_back(ToolCallBlock{"", "", "{\n\"a\":\n1}", false});
  message.content.emplace_back(OtherBlock{"", "broken"});
  message.content.emplace_back(OtherBlock{"text", R"({"text":5})"});
  std::string text = ToJsonText(message);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  json value = json::parse(text);
  EXPECT_EQ(value["metadata"], json::object());
  EXPECT_EQ(value["timestamp"], 0);
  EXPECT_EQ(value["content"][0]["text"], "bad \xef\xbf\xbd utf8");
  EXPECT_EQ(value["content"][1]["output"], "sunny, not JSON");
  EXPECT_EQ(value["content"][2]["args"], json({{"a", 1}}));
  EXPECT_EQ(value["content"][3]["type"], "other");
  EXPECT_EQ(ToJson(message), value);
  auto again = FromJsonText(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->content.size(), 5u);
}

TEST(CodecTest, DeltaIsOneLineWithEveryKey) {
  std::string text;
  AppendDeltaJson(text, "m\"1", "a\nb", "", 12'500'000);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  json value = json::parse(text);
  json full = ToJson(Message::Assistant("a\nb"));
  full["message_id"] = "m\"1";
  full["delta"] = true;
  full["timestamp"] = 12.5;
  EXPECT_EQ(value, full);
  text.clear();
  AppendDeltaJson(text, "m", "", "hm", 1'000'000);
  json reasoning = json::parse(text);
  EXPECT_EQ(reasoning["reasoning"], "hm");
  EXPECT_EQ(reasoning["content"], json::array());
}

TEST(CodecTest, SearchTextHoldsTextAndToolOutput) {
  Message message = Message::ToolResult("c1", "\"Sunny \\u00e9\"");
  message.content.emplace_back(TextBlock{.text = "words"});
  message.content.emplace_back(ToolResultBlock{"c2", R"({"t":21})", false});
  EXPECT_EQ(SearchText(ToJsonText(message)), "Sunny \xc3\xa9\nwords\n{\"t\":21}");
  EXPECT_EQ(SearchText("not json"), "");
}

// The operator's limit may be higher than that of other JSON.
TEST(CodecTest, PartsWithVeryManyValuesAreKept) {
  const json many = {{"n", json::array_t(200'000, json(1))}};
  const json value = {{"role", "assistant"},
                      {"metadata", many},
                      {"content",
                       {{{"type", "tool_call"}, {"id", "c1"}, {"name", "f"}, {"args", many}},
                        {{"type", "tool_result"}, {"call_id", "c1"}, {"output", many}},
                        {{"type", "data"}, {"mime_type", "text/csv"}, {"rows", many}}}}};
  auto message = FromJson(value, "m");
  ASSERT_TRUE(message.ok()) << message.status().ToString();
  auto stored = FromJsonText(ToJsonText(*message));
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  const json written = ToJson(*stored);
  EXPECT_EQ(written["metadata"], many);
  EXPECT_EQ(written["content"][0]["args"], many);
  EXPECT_EQ(written["content"][1]["output"], many);
  EXPECT_EQ(written["content"][2]["rows"], many);
}

TEST(CodecTest, StoredTextThatIsNotOursIsDataLoss) {
  for (const char* text : {"", "{", "[]", "{}", R"({"role":"king","content":[]})"}) {
    auto message = FromJsonText(text);
    ASSERT_FALSE(message.ok()) << text;
    EXPECT_EQ(message.status().code(), StatusCode::kDataLoss);
  }
}

struct BadInput {
  const char* text;
  const char* problem;
};

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, NamesTheField) {
  EXPECT_EQ(Problem(GetParam().text), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Codec, BadInputTest,
    testing::Values(
        BadInput{"5", "messages.0: must be an object"},
        BadInput{R"({"content":"x"})", "messages.0.role: is required"},
        BadInput{R"({"role":"king","content":"x"})",
                 "messages.0.role: must be one of user, assistant, system, tool"},
        BadInput{R"({"role":["user"],"content":"x"})",
                 "messages.0.role: must be one of user, assistant, system, tool"},
        BadInput{R"({"role":"user"})", "messages.0.content: is required"},
        BadInput{R"({"role":"user","content":7})",
                 "messages.0.content: must be a string or an array of content blocks"},
        BadInput{R"({"role":"user","content":["x"]})", "messages.0.content.0: must be an object"},
        BadInput{R"({"role":"user","content":[{}]})",
                 "messages.0.content.0.type: must not be empty"},
        BadInput{R"({"role":"user","content":[{"type":5}]})",
                 "messages.0.content.0.type: must be a string"},
        BadInput{R"({"role":"user","content":[{"type":"text","text":5}]})",
                 "messages.0.content.0.text: must be a string"},
        BadInput{R"({"role":"user","content":[{"type":"text"}]})",
                 "messages.0.content.0.text: is required"},
        BadInput{R"({"role":"user","content":[{"type":"text","text":null}]})",
                 "messages.0.content.0.text: is required"},
        BadInput{R"({"role":"user","content":[{"type":"reasoning","details":["a"]}]})",
                 "messages.0.content.0.summary: is required"},
        BadInput{R"({"role":"user","content":[{"type":"data","data_base64":"YQ=="}]})",
                 "messages.0.content.0.mime_type: must not be empty"},
        BadInput{R"({"role":"user","content":[{"type":"error","code":"E1"}]})",
                 "messages.0.content.0.message: must not be empty"},
        BadInput{R"({"role":"user","content":[{"type":"Text","text":"x"}]})",
                 "messages.0.content.0.type: must be one of text, image, audio, video, document, "
                 "data, tool_call, remote_tool_call, tool_result, reasoning, annotation, error"},
        BadInput{R"({"role":"user","content":[{"type":"image"}]})",
                 "messages.0.content.0.media: is required"},
        BadInput{R"({"role":"user","content":[{"type":"image","media":{"kind":"file_id"}}]})",
                 "messages.0.content.0.media.file_id: must not be empty"},
        BadInput{R"({"role":"user","content":[{"type":"image","media":{"kind":"disk"}}]})",
                 "messages.0.content.0.media.kind: must be one of url, file_id, data"},
        BadInput{
            R"({"role":"user","content":[{"type":"tool_call","id":"a","name":"b","args":[]}]})",
            "messages.0.content.0.args: must be an object"},
        BadInput{R"({"role":"tool","content":[{"type":"tool_result"}]})",
                 "messages.0.content.0.call_id: must not be empty"},
        BadInput{R"({"role":"user","content":"x","message_id":true})",
                 "messages.0.message_id: must be a string or an integer"},
        BadInput{R"({"role":"user","content":"x","metadata":[]})",
                 "messages.0.metadata: must be an object"},
        BadInput{R"({"role":"user","content":"x","timestamp":"now"})",
                 "messages.0.timestamp: must be Unix seconds"},
        BadInput{R"({"role":"user","content":"x","usages":[]})",
                 "messages.0.usages: must be an object"},
        BadInput{R"({"role":"user","content":"x","usages":{"total_tokens":2.5}})",
                 "messages.0.usages.total_tokens: must be an integer"},
        BadInput{R"({"role":"user","content":"x","usages":{"total_tokens":9223372036854775808}})",
                 "messages.0.usages.total_tokens: must be an integer"},
        BadInput{R"({"role":"user","content":[{"type":"image","url":"u","size_bytes":1e300}]})",
                 "messages.0.content.0.size_bytes: must be an integer"},
        BadInput{R"({"role":"assistant","content":"x","tools_calls":{}})",
                 "messages.0.tools_calls: must be an array"},
        BadInput{
            R"({"role":"assistant","content":"x","tools_calls":[{"id":"c","function":{"name":"f","arguments":"["}}]})",
            "messages.0.tools_calls.0.function.arguments: must be the text of a JSON object"}));

}  // namespace
}  // namespace agent_graph::message
