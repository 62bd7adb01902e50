// The part of a long conversation that models receive, and the handling of the rest.
#include "run/context/context_window.h"

#include "../run_fixture.h"
#include "message/codec.h"

namespace agent_graph::run {
namespace {

// "u": user message, "a": assistant message, "c": assistant message with a call, "t": tool result.
std::vector<Message> Conversation(const std::string& roles) {
  std::vector<Message> messages;
  for (char role : roles) {
    if (role == 'u') messages.push_back(Message::User("question"));
    if (role == 'a') messages.push_back(Message::Assistant("answer"));
    if (role == 't') messages.push_back(Message::ToolResult("c1", "1"));
    if (role != 'c') continue;
    messages.push_back(Message::Assistant(""));
    messages.back().content.emplace_back(ToolCallBlock{"c1", "add", "{}"});
  }
  return messages;
}

TEST(FirstInContextTest, IsCutAtAMessageOfTheUser) {
  const ContextPolicy policy{.messages_max = 4};
  EXPECT_EQ(FirstInContext(Conversation("uaua"), policy), 0u);
  EXPECT_EQ(FirstInContext(Conversation("uauaua"), policy), 2u);
  EXPECT_EQ(FirstInContext(Conversation("uauctaua"), policy), 6u);
  EXPECT_EQ(FirstInContext(Conversation(""), policy), 0u);
}

TEST(FirstInContextTest, TheNewestTurnIsNeverCut) {
  const ContextPolicy policy{.messages_max = 2};
  EXPECT_EQ(FirstInContext(Conversation("uauctctcta"), policy), 2u);
  EXPECT_EQ(FirstInContext(Conversation("aaaa"), policy), 0u);
}

TEST(FirstInContextTest, CountsTokens) {
  std::vector<Message> messages = Conversation("uaua");
  messages[0] = Message::User(std::string(4000, 'x'));
  EXPECT_GT(EstimateTokens(messages[0]), 1000u);
  EXPECT_LT(EstimateTokens(messages[1]), 10u);
  EXPECT_EQ(FirstInContext(messages, {.tokens_max = 500}), 2u);
  EXPECT_EQ(FirstInContext(messages, {.tokens_max = 2000}), 0u);
}

TEST(FirstToKeepTest, LeavesHalfOnceTheLimitIsPassed) {
  const ContextPolicy policy{.messages_max = 8};
  EXPECT_EQ(FirstToKeep(Conversation("uauauaua"), policy), 0u);
  EXPECT_EQ(FirstToKeep(Conversation("uauauauaua"), policy), 6u);
}

TEST(FirstInContextTest, CountsTheArgumentsAndResultsOfCalls) {
  Message call = Message::Assistant("");
  call.content.emplace_back(ToolCallBlock{"c1", std::string(400, 'n'), std::string(400, 'x')});
  EXPECT_EQ(EstimateTokens(call), 204u);
  EXPECT_EQ(EstimateTokens(Message::ToolResult("c1", std::string(400, '1'))), 104u);
  EXPECT_EQ(EstimateTokens(Message::User("1234")), 5u);
}

TEST(FirstInContextTest, TheLimitItselfFits) {
  const std::vector<Message> messages = {Message::User("1234"), Message::User("1234")};
  EXPECT_EQ(FirstInContext(messages, {.tokens_max = 10}), 0u);
  EXPECT_EQ(FirstInContext(messages, {.tokens_max = 9}), 1u);
  EXPECT_EQ(FirstInContext(messages, {.messages_max = 2}), 0u);
}

TEST(FirstToKeepTest, HalvesBothLimits) {
  EXPECT_EQ(FirstToKeep(Conversation("uuuuuu"), {.messages_max = 4}), 4u);
  EXPECT_EQ(FirstToKeep(Conversation("uuuuuu"), {.messages_max = 5}), 3u);
  const std::vector<Message> messages(6, Message::User("1234"));  // five tokens each
  EXPECT_EQ(FirstToKeep(messages, {.tokens_max = 29}), 3u);
  EXPECT_EQ(FirstToKeep(messages, {.tokens_max = 30}), 0u);
  EXPECT_EQ(FirstToKeep(messages, {.tokens_max = 20}), 4u);
}

TEST(FirstToKeepTest, HalfOfOneIsNotUnlimited) {
  EXPECT_EQ(FirstToKeep(Conversation("uu"), {.messages_max = 1}), 1u);
  EXPECT_EQ(FirstToKeep(Conversation("uu"), {.tokens_max = 1}), 1u);
}

class ContextPolicyTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    builder_.AddAgent("A", {.system_prompt = "Be kind."}).AddEdge(START, "A");
  }
  void Turn(const std::string& text) {
    model_.script.push_back({.pieces = {"to " + text}});
    EXPECT_EQ(RunOk(Ask(text)).status, RunStatus::kDone);
  }
  size_t Window() { return state_.At("t1").state.window.size(); }
};

TEST_F(ContextPolicyTest, ModelsSeeTheNewestMessagesOnly) {
  builder_.SetContext({.messages_max = 3});
  for (const char* text : {"one", "two", "three"}) Turn(text);
  const auto& seen = model_.requests.back().messages;
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].Text(), "two");
  EXPECT_EQ(seen[2].Text(), "three");
  EXPECT_EQ(Window(), 2u);
}

TEST_F(ContextPolicyTest, RemovedMessagesAreSummarized) {
  builder_.SetContext({.messages_max = 4, .summarize = true});
  Turn("one");
  Turn("two");
  model_.script.push_back({.pieces = {"to three"}});
  model_.script.push_back({.pieces = {"they counted"}});
  const RunOutcome outcome = RunOk(Ask("three"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(outcome.summary, "they counted");
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 2u);
  EXPECT_EQ(Window(), 2u);
  const std::string told = model_.requests.back().messages.at(0).Text();
  EXPECT_NE(told.find("user: one\nassistant: to one\nuser: two\n"), std::string::npos) << told;
  EXPECT_EQ(told.find("three"), std::string::npos);

  Turn("four");
  EXPECT_NE(model_.requests.back().system_prompt.find("they counted"), std::string::npos);
  EXPECT_EQ(model_.requests.back().messages.size(), 3u);
}

TEST_F(ContextPolicyTest, TheSummaryBeforeIsPartOfTheNext) {
  builder_.SetContext({.messages_max = 2, .summarize = true, .summary_prompt = "In verse."});
  Turn("one");
  for (const char* summary : {"first", "second"}) {
    model_.script.push_back({.pieces = {"yes"}});
    model_.script.push_back({.pieces = {summary}});
    EXPECT_EQ(RunOk(Ask("more")).summary, summary);
  }
  EXPECT_EQ(model_.requests.back().system_prompt, "In verse.");
  const std::string told = model_.requests.back().messages.at(0).Text();
  EXPECT_NE(told.find("first"), std::string::npos) << told;
}

// The new summary replaces it, so that otherwise everything older would be forgotten.
TEST_F(ContextPolicyTest, TheSummaryBeforeIsPartOfTheNextHoweverLongTheConversationIs) {
  builder_.SetContext({.messages_max = 2, .summarize = true});
  Turn("one");
  for (const char* summary : {"first", "second"}) {
    std::string text = "é";
    for (int i = 0; i < 19; ++i) text += text;
    model_.script.push_back({.pieces = {"yes" + text}});
    model_.script.push_back({.pieces = {summary}});
    EXPECT_EQ(RunOk(Ask("more")).summary, summary);
  }
  const std::string told = model_.requests.back().messages.at(0).Text();
  EXPECT_TRUE(told.starts_with("Summary of what came before:\nfirst\n\nConversation:\né"));
  EXPECT_TRUE(told.ends_with("é\n"));
  EXPECT_LE(told.size(), 512u * 1024);
}

TEST_F(ContextPolicyTest, TheModelCallOfASummaryIsInTheUsage) {
  builder_.SetContext({.messages_max = 2, .summarize = true});
  state::FinishRunRequest finished;
  state_.before_finish = [&](const state::FinishRunRequest& finish) {
    finished = finish;
    return Status::Ok();
  };
  Turn("one");
  model_.script.push_back({.pieces = {"yes"}});
  model_.script.push_back({.pieces = {"summary"}});
  EXPECT_EQ(RunOk(Ask("two")).summary, "summary");
  EXPECT_EQ(
      json::parse(finished.usage_json),
      json({{"input_tokens", 6}, {"output_tokens", 4}, {"model_calls", 2}, {"tool_calls", 0}}));
}

TEST_F(ContextPolicyTest, AFailedSummaryRemovesNothing) {
  builder_.SetContext({.messages_max = 2, .summarize = true});
  Turn("one");
  model_.script.push_back({.pieces = {"yes"}});
  model_.script.push_back({.failure = Status(StatusCode::kModel, "overloaded")});
  std::vector<std::string> warnings;
  options_.services.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) warnings.emplace_back(line);
  };
  const RunOutcome outcome = RunOk(Ask("two"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_FALSE(outcome.summary.has_value());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("no summary: MODEL: overloaded"), std::string::npos) << warnings[0];
  EXPECT_EQ(Window(), 4u);
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kError).size(), 0u);
}

TEST_F(ContextPolicyTest, CallsAndResultsAreSummarizedToo) {
  builder_.SetContext({.messages_max = 4, .summarize = true});
  Message calling = Message::Assistant("Let me see.");
  calling.content.emplace_back(ToolCallBlock{"c1", "weather", R"({"city":"Rome"})"});
  uint64_t sequence = 0;
  for (Message message : {Message::User("hi"), calling, Message::ToolResult("c1", R"("sunny")"),
                          Message::Assistant("Sunny.")}) {
    message.id = "m" + std::to_string(++sequence);
    state_.At("t1").state.window.push_back({message.id, sequence, message::ToJsonText(message)});
  }
  model_.script = {{.pieces = {"bye"}}, {.pieces = {"weather in Rome"}}};
  EXPECT_EQ(RunOk(Ask("thanks")).summary, "weather in Rome");
  const std::string told = model_.requests.back().messages.at(0).Text();
  for (const char* part : {"Conversation:\nuser: hi\n", "assistant: Let me see.\n", "calls weather",
                           R"({"city":"Rome"})", "result: \"sunny\"\n", "assistant: Sunny.\n"}) {
    EXPECT_NE(told.find(part), std::string::npos) << part << " is not in " << told;
  }
}

TEST_F(ContextPolicyTest, OfAVeryLongConversationTheEndIsSummarized) {
  builder_.SetContext({.messages_max = 2, .summarize = true});
  const std::string text(600'000, 'x');
  Turn("first " + text);
  model_.script.push_back({.pieces = {"yes"}});
  model_.script.push_back({.pieces = {"summary"}});
  RunOk(Ask("second"));
  const std::string told = model_.requests.back().messages.at(0).Text();
  EXPECT_EQ(told.size(), 512u * 1024);
  EXPECT_TRUE(told.ends_with("x\n")) << "the answer to the first question";
  EXPECT_EQ(told.find("first"), std::string::npos);
}

TEST_F(ContextPolicyTest, ASummaryThatIsTooLongOrEmptyIsNone) {
  builder_.SetContext({.messages_max = 2, .summarize = true});
  for (const std::string& summary : {std::string(64 * 1024 + 1, 's'), std::string()}) {
    state_.At("t1").state = {};
    Turn("one");
    model_.script.push_back({.pieces = {"yes"}});
    model_.script.push_back({.pieces = {summary}});
    EXPECT_FALSE(RunOk(Ask("two")).summary.has_value());
    EXPECT_EQ(Window(), 4u);
  }
  model_.script.push_back({.pieces = {"yes"}});
  model_.script.push_back({.pieces = {std::string(64 * 1024, 's')}});
  EXPECT_EQ(RunOk(Ask("three")).summary, std::string(64 * 1024, 's'));
}

TEST_F(ContextPolicyTest, ASummaryHasADeadlineOfItsOwn) {
  builder_.SetContext({.messages_max = 2, .summarize = true});
  Turn("one");
  EXPECT_EQ(model_.requests.back().deadline, kNoDeadline);
  model_.script.push_back({.pieces = {"yes"}});
  model_.script.push_back({.pieces = {"summary"}});
  RunOk(Ask("two"));
  EXPECT_NE(model_.requests.back().deadline, kNoDeadline);
}

TEST_F(ContextPolicyTest, TheAnswerIsSentBeforeTheSummaryIsMade) {
  builder_.SetContext({.messages_max = 2, .summarize = true});
  Turn("one");
  sink_.on_event = [this](const RunEvent& event) {
    if (event.kind == RunEvent::Kind::kMessage) {
      EXPECT_EQ(model_.script.size(), 1u) << "the model has not been asked for the summary";
    }
    return Status::Ok();
  };
  model_.script.push_back({.pieces = {"yes"}});
  model_.script.push_back({.pieces = {"summary"}});
  sink_.events.clear();
  EXPECT_EQ(RunOk(Ask("two")).summary, "summary");
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessage).size(), 1u);
}

TEST_F(ContextPolicyTest, OnlyARunThatReachesTheEndShortensTheThread) {
  builder_.SetContext({.messages_max = 2});
  Turn("one");
  model_.script.push_back({.failure = Status(StatusCode::kModel, "overloaded")});
  EXPECT_EQ(RunOk(Ask("two")).status, RunStatus::kError);
  EXPECT_EQ(Window(), 3u);
  model_.script.push_back({.wait_for_cancel = true});
  model_.on_wait = [this] { cancellation_.Cancel(runtime::CancelReason::kStopped); };
  EXPECT_EQ(RunOk(Ask("three")).status, RunStatus::kStopped);
  EXPECT_EQ(Window(), 4u);
  cancellation_ = runtime::Cancellation();
  Turn("four");
  EXPECT_EQ(Window(), 2u);
}

}  // namespace
}  // namespace agent_graph::run
