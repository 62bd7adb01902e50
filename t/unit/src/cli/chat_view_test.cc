#include "cli/chat_view.h"

#include "cli/api_client.h"
#include "cli/load.h"
#include "command_fixture.h"

namespace agent_graph::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string Message(const std::string& content, bool delta = false, const std::string& id = "m") {
  return R"({"event":"message","message":{"message_id":")" + id + R"(","content":[)" + content +
         R"(],"delta":)" + (delta ? "true" : "false") + "}}";
}

std::string Text(const std::string& text) {
  return R"({"type":"text","text":")" + text + "\"}";
}

class ChatViewTest : public testing::Test {
 protected:
  std::string Shown(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) view_.Show(line);
    view_.EndLine();
    return out_.text();
  }

  MemoryStream out_;
  ChatView view_{out_.file()};
};

TEST_F(ChatViewTest, ShowsTextOnce) {
  EXPECT_EQ(
      Shown({Message(Text("One"), true), Message(Text(" two"), true), Message(Text("One two"))}),
      "One two\n");
}

TEST_F(ChatViewTest, ShowsTextThatWasNotStreamed) {
  EXPECT_EQ(Shown({Message(Text("Whole"))}), "Whole\n");
}

TEST_F(ChatViewTest, ShowsCallsAndResults) {
  EXPECT_EQ(Shown({Message(Text("Let me see"), true),
                   Message(Text("Let me see") +
                           R"(,{"type":"tool_call","id":"1","name":"add","args":{"a":1}})"
                           R"(,{"type":"tool_call","id":"2","name":"pay","args":{}})")}),
            "Let me see\n-> add {\"a\":1}\n-> pay {}\n");
  EXPECT_EQ(view_.open_calls().size(), 2u);
  EXPECT_EQ(view_.ArgumentsOf("1"), R"({"a":1})");
  EXPECT_THAT(
      Shown({Message(R"({"type":"tool_result","call_id":"1","output":3,"is_error":false},)"
                     R"({"type":"tool_result","call_id":"2","output":"no","is_error":true})")}),
      HasSubstr("<- add: 3\n<- pay failed: no\n"));
  EXPECT_TRUE(view_.open_calls().empty());
}

TEST_F(ChatViewTest, ShowsErrors) {
  EXPECT_EQ(Shown({R"({"event":"error","data":{"code":"X","reason":"it broke"}})"}),
            "error: it broke\n");
  EXPECT_TRUE(view_.failed());
  view_.BeginRun();
  EXPECT_FALSE(view_.failed());
}

TEST_F(ChatViewTest, SkipsWhatItDoesNotKnow) {
  EXPECT_EQ(
      Shown({"", "x", "[]", "{}", R"({"event":"message"})", R"({"event":"message","message":{}})",
             R"({"event":"message","message":{"content":[1,{"type":"new"}]}})",
             R"({"event":"updates","data":{"status":"done"}})"}),
      "");
}

TEST_F(ChatViewTest, ShowsLinesOfOtherSystems) {
  EXPECT_EQ(Shown({Message(Text(R"(a\r\nb)"), true)}), "a\nb\n");
}

TEST_F(ChatViewTest, SendsNoCommandsToTheTerminal) {
  EXPECT_EQ(Shown({Message(Text(R"(a\u001b]0;x\u0007\tb\nc\rd\u007f\u009b2Jé\u00a0)"), true),
                   R"({"event":"error","data":{"reason":"\u001bc"}})"}),
            "a�]0;x�\tb\nc�d��2Jé\u00a0\nerror: �c\n");
}

TEST(ApiClientTest, KnowsWhyAnAnswerIs503) {
  EXPECT_EQ(CodeOf(503, R"({"error":{"code":"NOT_CONFIGURED"}})"), StatusCode::kNotConfigured);
  for (const char* body :
       {R"({"error":{"code":"OVERLOADED"}})", R"({"error":1})", "[]", "<html>"}) {
    EXPECT_EQ(CodeOf(503, body), StatusCode::kUnavailable) << body;
  }
  EXPECT_EQ(CodeOf(404, ""), StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(500, ""), StatusCode::kUnavailable);
}

TEST(ApiClientTest, ExplainsAnswers) {
  EXPECT_EQ(ProblemOf(422, R"({"detail":"messages: is required"})"),
            "the service answers 422: messages: is required");
  EXPECT_THAT(ProblemOf(403, R"({"detail":"no token"})"), HasSubstr("AGENT_GRAPH_TOKEN"));
  EXPECT_THAT(ProblemOf(404, "<html>\n"), HasSubstr("the service answers 404: <html>"));
}

TEST(Load, MakesEveryRequestOnce) {
  std::atomic<int> made{0};
  const LoadReport report =
      RunLoad({.requests = 50, .concurrency = 4}, [&](size_t client) -> Result<Measured> {
        EXPECT_LT(client, 4u);
        if (++made == 7) return Status(StatusCode::kUnavailable, "gone");
        return Measured{.first_text = 1ms, .total = 2ms};
      });
  EXPECT_EQ(made, 50);
  EXPECT_EQ(report.done.size(), 49u);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(report.first_failure.message(), "gone");
  EXPECT_THAT(ReportText(report), HasSubstr("50 requests in "));
  EXPECT_THAT(ReportText(report), HasSubstr("whole answer p50 2.0 ms   p99 2.0 ms"));
}

TEST(Load, FindsPercentiles) {
  std::vector<Duration> sorted;
  for (int i = 1; i <= 100; ++i) sorted.emplace_back(std::chrono::milliseconds(i));
  EXPECT_EQ(Percentile(sorted, 0.5), 50ms);
  EXPECT_EQ(Percentile(sorted, 0.99), 99ms);
  EXPECT_EQ(Percentile({Duration(1ms)}, 0.99), 1ms);
  EXPECT_EQ(Percentile({}, 0.5), 0ms);
}

}  // namespace
}  // namespace agent_graph::cli
