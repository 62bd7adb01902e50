#include "models/demo_dialog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect.h"
#include "models/demo.h"
#include "models/demo_clock.h"

namespace agent_graph::models {
namespace {

using testing::Collect;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Of;
using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kWinter = std::chrono::sys_days(2026y / 1 / 15);
constexpr std::chrono::sys_seconds kSummer = std::chrono::sys_days(2026y / 7 / 15);

std::vector<ToolDeclaration> SampleTools() {
  return {
      {.name = "current_time"}, {.name = "calculator"}, {.name = "remember"}, {.name = "recall"}};
}

// "current_time {…}" for each call.
std::vector<std::string> CallsFor(std::string_view sentence,
                                  std::chrono::sys_seconds now = kWinter) {
  std::vector<std::string> calls;
  for (const ToolCallBlock& call : AnswerSentence(sentence, SampleTools(), now).calls) {
    calls.push_back(call.name + " " + call.arguments_json);
  }
  return calls;
}

std::string TextFor(std::string_view sentence) {
  return AnswerSentence(sentence, SampleTools(), kWinter).text;
}

TEST(DemoDialog, AsksAClockForEachCity) {
  EXPECT_THAT(CallsFor("What time is it?"), ElementsAre("current_time {}"));
  EXPECT_THAT(CallsFor("what time is it in Tokyo?"),
              ElementsAre(R"(current_time {"utc_offset_minutes":540})"));
  EXPECT_THAT(CallsFor("What's the time in new york and PARIS"),
              ElementsAre(R"(current_time {"utc_offset_minutes":-300})",
                          R"(current_time {"utc_offset_minutes":60})"));
}

TEST(DemoDialog, KnowsSummerTime) {
  const auto offset = [](std::string_view city, std::chrono::sys_seconds now) {
    return CitiesIn(city, now).at(0).utc_offset_minutes;
  };
  EXPECT_EQ(offset("Tokyo", kSummer), 540);
  EXPECT_EQ(offset("Paris", kSummer), 120);
  EXPECT_EQ(offset("New York", kSummer), -240);
  const std::chrono::sys_days march(2026y / 3 / 29);  // Europe's change
  EXPECT_EQ(offset("London", march + 59min), 0);
  EXPECT_EQ(offset("London", march + 60min), 60);
  const std::chrono::sys_days november(2026y / 11 / 1);  // America's change: 02:00 EDT
  EXPECT_EQ(offset("New York", november + 5h + 59min), -240);
  EXPECT_EQ(offset("New York", november + 6h), -300);
}

TEST(DemoDialog, Calculates) {
  EXPECT_THAT(CallsFor("What is 6 * 7?"), ElementsAre(R"(calculator {"expression":"6 * 7"})"));
  EXPECT_THAT(CallsFor("calculate (1+2)^3"), ElementsAre(R"(calculator {"expression":"(1+2)^3"})"));
  EXPECT_THAT(CallsFor("2-1"), ElementsAre(R"(calculator {"expression":"2-1"})"));
  for (const char* sentence : {"What is 6?", "What is love?", "6 * x", "-", "What is -6?"}) {
    EXPECT_THAT(CallsFor(sentence), IsEmpty()) << sentence;
  }
}

TEST(DemoDialog, RemembersAndRecalls) {
  EXPECT_THAT(CallsFor("Remember that I like green tea."),
              ElementsAre(R"(remember {"content":"I like green tea"})"));
  EXPECT_THAT(CallsFor("What do you know about me?"),
              ElementsAre(R"(recall {"query":"What do you know about me?"})"));
  EXPECT_THAT(CallsFor("Remember."), IsEmpty());
}

TEST(DemoDialog, HasTextsOfItsOwn) {
  EXPECT_THAT(TextFor("Hello!"), HasSubstr("What time is it in Tokyo"));
  EXPECT_GT(TextFor("Tell me a story").size(), 1000u);
  EXPECT_EQ(TextFor("Anything else"), "");
}

TEST(DemoDialog, UsesOnlyDeclaredTools) {
  for (const char* sentence :
       {"what time is it?", "what is 6 * 7?", "remember that x", "what do you know about me?"}) {
    const DialogAnswer answer = AnswerSentence(sentence, {}, kWinter);
    EXPECT_THAT(answer.calls, IsEmpty()) << sentence;
    EXPECT_EQ(answer.text, "") << sentence;
  }
  EXPECT_THAT(AnswerSentence("hello", {}, kWinter).text, Not(HasSubstr("Tokyo")));
}

ToolCallBlock Called(std::string name, std::string arguments = "{}") {
  return {.id = "1", .name = std::move(name), .arguments_json = std::move(arguments)};
}

ToolResultBlock Gave(std::string output, bool is_error = false) {
  return {.call_id = "1", .output_json = std::move(output), .is_error = is_error};
}

std::string Report(const std::string& sentence, const ToolCallBlock& call,
                   const ToolResultBlock& result) {
  return ReportResults(sentence, {{.call = &call, .result = &result}}, kWinter);
}

TEST(DemoDialog, ReportsTimesOfCities) {
  const ToolCallBlock time = Called("current_time");
  const ToolResultBlock noon = Gave(R"({"time":"2026-01-15T12:00:00","utc_offset_minutes":60})");
  EXPECT_EQ(Report("what time is it in Oslo", time, noon), "It is 12:00 on 2026-01-15 (UTC).");
  EXPECT_EQ(Report("what time is it in Rome", time, noon), "In Rome it is 12:00 on 2026-01-15.");
  EXPECT_EQ(
      ReportResults("the time in Paris and Rome",
                    {{.call = &time, .result = &noon}, {.call = &time, .result = &noon}}, kWinter),
      "In Paris it is 12:00 on 2026-01-15.\nIn Rome it is 12:00 on 2026-01-15.");
}

TEST(DemoDialog, ReportsResultsInSentences) {
  EXPECT_EQ(Report("6*7", Called("calculator", R"({"expression":"6*7"})"), Gave("42")),
            "6*7 = 42.");
  EXPECT_EQ(Report("1/0", Called("calculator"), Gave(R"("division by zero")", true)),
            "The tool calculator failed: division by zero. The conversation goes on.");
  EXPECT_EQ(Report("x", Called("remember"), Gave(R"({"error":"not allowed"})", true)),
            "The tool remember failed: not allowed. The conversation goes on.");
  EXPECT_EQ(Report("x", Called("recall"), Gave(R"({"memories":[{"content":"a"}]})")),
            "This is what I remember:\n\n- a");
  EXPECT_THAT(Report("x", Called("recall"), Gave(R"({"memories":[]})")),
              HasSubstr("nothing about you yet"));
  EXPECT_EQ(Report("x", Called("other"), Gave(R"({"a":1})")), R"({"a":1})");
}

TEST(DemoDialog, ShowsResultsOfAnotherForm) {
  for (const char* name : {"current_time", "recall", "calculator"}) {
    EXPECT_EQ(Report("x", Called(name), Gave("[1]")), "[1]");
  }
}

ModelRequest Conversation(std::vector<Message> messages) {
  ModelRequest request;
  request.messages = std::move(messages);
  request.tools = SampleTools();
  return request;
}

TEST(DemoDialog, IsPartOfTheModelIfItIsWanted) {
  DemoModel model(R"({"dialog":true})");
  EXPECT_EQ(Collect(model, Conversation({Message::User("what is 6 * 7?")}))
                .reply->message.ToolCalls()
                .at(0)
                ->name,
            "calculator");
  EXPECT_EQ(Collect(model, Conversation({Message::User("Anything else")})).reply->message.Text(),
            "You said: Anything else");
  DemoModel plain;
  EXPECT_EQ(Collect(plain, Conversation({Message::User("what is 6 * 7?")})).reply->message.Text(),
            "You said: what is 6 * 7?");
}

TEST(DemoDialog, KeepsTheResultsOfExplicitCalls) {
  DemoModel model(R"({"dialog":true})");
  const auto answer = Collect(
      model,
      Conversation({Message::User("call calculator {\"expression\":\"6*7\"}"),
                    Of(Role::kAssistant, {Called("calculator")}), Message::ToolResult("1", "42")}));
  EXPECT_EQ(answer.reply->message.Text(), "42");
}

TEST(DemoDialog, ReportsAfterAnApproval) {
  DemoModel model(R"({"dialog":true})");
  const std::vector<Message> before = {Message::User("Remember that I like tea"),
                                       Of(Role::kAssistant, {Called("remember")}),
                                       Message::ToolResult("1", R"({"memory_id":"m"})")};
  std::vector<Message> approved = before;
  approved.push_back(Message::User("yes"));
  EXPECT_EQ(Collect(model, Conversation(approved)).reply->message.Text(), "I will remember that.");
  std::vector<Message> next = before;
  next.push_back(Message::User("what is 1+1?"));
  EXPECT_EQ(Collect(model, Conversation(next)).reply->message.ToolCalls().size(), 1u);
}

}  // namespace
}  // namespace agent_graph::models
