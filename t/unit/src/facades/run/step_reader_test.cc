#include "facades/run/step_reader.h"

#include <gtest/gtest.h>

#include "message/codec.h"

namespace agent_graph::facades {
namespace {

// Writes each step as a line.
class Steps : public StepReader {
 public:
  Status OnStart(const run::RunStart&, const state::RunRecord*) override { return Status::Ok(); }
  Status OnError(const api::RunError&, const api::EventPlace&) override { return Status::Ok(); }
  Status OnEnd(const api::RunEnd&, const api::EventPlace&) override { return Status::Ok(); }

  void Delta(const std::string& id, const std::string& text, const std::string& reasoning = "") {
    run::RunDelta delta;
    delta.message_id = id;
    delta.text = text;
    delta.reasoning = reasoning;
    delta.node = "MAIN";
    EXPECT_TRUE(OnDelta(delta, {}, false).ok());
  }
  void Whole(const Message& message) {
    const std::string text = message::ToJsonText(message);
    EXPECT_TRUE(OnMessage({text, "MAIN", 1}, {}).ok());
  }

  std::vector<std::string> lines;

 private:
  Status Add(std::string line) {
    lines.push_back(std::move(line));
    return Status::Ok();
  }
  Status OnMessageStarted(const MessageHead& head, const api::EventPlace&) override {
    return Add("start " + head.id + " " + head.node);
  }
  Status OnText(const MessageHead& head, std::string_view text, const api::EventPlace&) override {
    return Add("text " + head.id + " " + std::string(text));
  }
  Status OnReasoning(const MessageHead& head, std::string_view text,
                     const api::EventPlace&) override {
    return Add("reasoning " + head.id + " " + std::string(text));
  }
  Status OnToolCall(const MessageHead& head, const ToolCallBlock& call,
                    const api::EventPlace&) override {
    return Add("call " + head.id + " " + call.name);
  }
  Status OnMessageFinished(const MessageHead& head, const Message& message,
                           const api::EventPlace&) override {
    return Add("end " + head.id + " " + message.Text());
  }
  Status OnToolResult(const MessageHead&, const ToolResultBlock& result,
                      const api::EventPlace&) override {
    return Add("result " + result.call_id + " " + result.output_json);
  }
  Status OnMessageVoid(const MessageHead& head, uint32_t attempt) override {
    return Add("void " + head.id + " " + std::to_string(attempt));
  }
};

using Lines = std::vector<std::string>;

Message Answer(const std::string& id, const std::string& text) {
  Message message = Message::Assistant(text);
  message.id = id;
  return message;
}

TEST(StepReader, AMessageThatWasNotSeenGrowingHasAllSteps) {
  Steps steps;
  steps.Whole(Answer("m1", "hello"));
  EXPECT_EQ(steps.lines, (Lines{"start m1 MAIN", "text m1 hello", "end m1 hello"}));
}

TEST(StepReader, PiecesAndTheRestMakeUpTheMessage) {
  Steps steps;
  steps.Delta("m1", "", "think");
  steps.Delta("m1", "he");
  Message message = Answer("m1", "hello");
  message.content.emplace_back(
      ReasoningBlock{.summary = "thinking", .details = {}, .signature = {}});
  steps.Whole(message);
  EXPECT_EQ(steps.lines, (Lines{"start m1 MAIN", "reasoning m1 think", "text m1 he",
                                "reasoning m1 ing", "text m1 llo", "end m1 hello"}));
}

TEST(StepReader, MessagesOfParallelNodesGrowSideBySide) {
  Steps steps;
  steps.Delta("m1", "a");
  steps.Delta("m2", "b");
  steps.Delta("m1", "c");
  steps.Whole(Answer("m2", "b"));
  steps.Whole(Answer("m1", "ac"));
  EXPECT_EQ(steps.lines, (Lines{"start m1 MAIN", "text m1 a", "start m2 MAIN", "text m2 b",
                                "text m1 c", "end m2 b", "end m1 ac"}));
}

TEST(StepReader, ACallOfTheClientIsOpenUntilItHasAResult) {
  Steps steps;
  Message calls = Answer("m1", "");
  calls.content.clear();
  calls.content.emplace_back(ToolCallBlock{.id = "c1", .name = "own", .arguments_json = "{}"});
  calls.content.emplace_back(ToolCallBlock{.id = "c2", .name = "remote", .arguments_json = "{}"});
  steps.Whole(calls);
  EXPECT_TRUE(steps.open_calls().empty());
  Message handed_out = Answer("m2", "");
  handed_out.role = Role::kTool;
  handed_out.content = {
      ToolCallBlock{.id = "c2", .name = "remote", .arguments_json = "{}", .remote = true}};
  steps.Whole(handed_out);
  ASSERT_EQ(steps.open_calls().size(), 1u);
  EXPECT_EQ(steps.open_calls()[0].id, "c2");
  steps.Whole(Message::ToolResult("c2", "1"));
  EXPECT_TRUE(steps.open_calls().empty());
  EXPECT_EQ(steps.lines, (Lines{"start m1 MAIN", "call m1 own", "call m1 remote", "end m1 ",
                                "call m2 remote", "result c2 1"}));
}

TEST(StepReader, ALaterAttemptMakesThePiecesVoid) {
  Steps steps;
  steps.Delta("m1", "he");
  EXPECT_TRUE(steps.OnReset("m1", 2).ok());
  EXPECT_TRUE(steps.OnReset("m1", 2).ok());  // it is known already
  steps.Whole(Answer("m2", "hello"));
  EXPECT_EQ(steps.lines, (Lines{"start m1 MAIN", "text m1 he", "void m1 2", "start m2 MAIN",
                                "text m2 hello", "end m2 hello"}));
}

TEST(StepReader, CountsTheTokensOfAllCallsAndKnowsWhyTheLastOneEnded) {
  Steps steps;
  for (const char* id : {"m1", "m2"}) {
    Message message = Answer(id, "x");
    message.usage = Usage{.prompt_tokens = 3, .completion_tokens = 2, .total_tokens = 5};
    message.metadata_json = R"({"stop_reason":"length"})";
    steps.Whole(message);
  }
  EXPECT_EQ(steps.usage().total_tokens, 10);
  EXPECT_EQ(steps.stop_reason(), "length");
}

}  // namespace
}  // namespace agent_graph::facades
