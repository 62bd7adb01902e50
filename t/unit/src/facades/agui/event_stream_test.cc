#include "facades/agui/event_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent_graph/json.h"

namespace agent_graph::agui {
namespace {

std::vector<json> Events(EventStream& stream) {
  std::vector<json> events;
  std::string text = stream.Take();
  for (size_t end = text.find("\n\n"); end != std::string::npos; end = text.find("\n\n")) {
    EXPECT_TRUE(text.starts_with("data: "));
    events.push_back(json::parse(text.substr(6, end - 6)));
    text.erase(0, end + 2);
  }
  EXPECT_TRUE(text.empty());
  return events;
}

// The types of the events, and the ids or names that they are about.
std::string Summary(EventStream& stream) {
  std::string summary;
  for (const json& event : Events(stream)) {
    if (!summary.empty()) summary += ' ';
    summary += event.at("type").get<std::string>();
    for (const char* member : {"stepName", "toolCallId", "messageId"}) {
      if (event.contains(member)) {
        summary += ':' + event[member].get<std::string>();
        break;
      }
    }
  }
  return summary;
}

Message Answer(const char* id, std::vector<ContentBlock> content = {}) {
  Message message = Message::Assistant("");
  message.id = id;
  message.content = std::move(content);
  return message;
}

TEST(EventStream, AMessageIsOpenFromItsFirstPieceToItsEnd) {
  EventStream stream;
  stream.EnterStep("MAIN");
  stream.Reasoning("m", "hm");
  stream.Reasoning("m", "");
  stream.Text("m", "a");
  stream.Text("m", "b");
  stream.FinishMessage(Answer("m"));
  stream.FinishStep("MAIN");
  EXPECT_EQ(Summary(stream),
            "STEP_STARTED:MAIN REASONING_START:reasoning-m REASONING_MESSAGE_START:reasoning-m "
            "REASONING_MESSAGE_CONTENT:reasoning-m REASONING_MESSAGE_END:reasoning-m "
            "REASONING_END:reasoning-m TEXT_MESSAGE_START:m TEXT_MESSAGE_CONTENT:m "
            "TEXT_MESSAGE_CONTENT:m TEXT_MESSAGE_END:m STEP_FINISHED:MAIN");
}

TEST(EventStream, ReasoningBehindTextHasAnIdOfItsOwn) {
  EventStream stream;
  stream.Reasoning("m", "first");
  stream.Text("m", "a");
  stream.Reasoning("m", "second");
  (void)stream.Take();
  stream.FinishMessage(Answer("m", {ReasoningBlock{.summary = "firstsecond", .signature = "s"}}));
  EXPECT_EQ(Summary(stream),
            "REASONING_MESSAGE_END:reasoning-m-2 REASONING_END:reasoning-m-2 TEXT_MESSAGE_END:m "
            "REASONING_ENCRYPTED_VALUE");
}

TEST(EventStream, AMessageWithoutTextHasNoEvents) {
  EventStream stream;
  stream.Text("m", "");
  stream.FinishMessage(Answer("m"));
  EXPECT_TRUE(stream.empty());
}

TEST(EventStream, StepsFollowEachOther) {
  EventStream stream;
  stream.EnterStep("A");
  stream.EnterStep("A");
  stream.EnterStep("");
  stream.EnterStep("B");
  stream.FinishStep("C");
  stream.Close();
  EXPECT_EQ(Summary(stream),
            "STEP_STARTED:A STEP_FINISHED:A STEP_STARTED:B STEP_FINISHED:B STEP_STARTED:C "
            "STEP_FINISHED:C");
}

TEST(EventStream, AStepEndsItsOpenMessages) {
  EventStream stream;
  stream.EnterStep("A");
  stream.Text("m", "x");
  stream.Text("n", "y");
  (void)stream.Take();
  stream.FinishStep("A");
  EXPECT_EQ(Summary(stream), "TEXT_MESSAGE_END:m TEXT_MESSAGE_END:n STEP_FINISHED:A");
}

TEST(EventStream, OpenMessagesAreBounded) {
  EventStream stream;
  for (int i = 0; i < 65; ++i) stream.Text("m" + std::to_string(i), "x");
  const std::vector<json> events = Events(stream);
  const auto ends = std::ranges::count_if(
      events, [](const json& event) { return event.at("type") == "TEXT_MESSAGE_END"; });
  EXPECT_EQ(ends, 1);
}

TEST(EventStream, ACallIsShownOnceAndWaitsForItsResult) {
  EventStream stream;
  const ToolCallBlock call{.id = "c", .name = "f", .arguments_json = "{}"};
  stream.Text("m", "x");
  stream.Call("m", call);
  stream.Call("n", call);
  EXPECT_EQ(Summary(stream),
            "TEXT_MESSAGE_START:m TEXT_MESSAGE_CONTENT:m TEXT_MESSAGE_END:m TOOL_CALL_START:c "
            "TOOL_CALL_ARGS:c TOOL_CALL_END:c");
  EXPECT_EQ(stream.pending_calls(), std::vector<std::string>{"c"});
  stream.Result("r", {"c", R"("42")"});
  stream.Result("r", {"d", R"({"x":1})", true});
  const std::vector<json> results = Events(stream);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("messageId"), "r");
  EXPECT_EQ(results[0].at("content"), "42");
  EXPECT_EQ(results[1].at("messageId"), "r-2");
  EXPECT_EQ(results[1].at("content"), R"({"x":1})");
  EXPECT_EQ(results[1].at("metadata").at("isError"), true);
  EXPECT_TRUE(stream.pending_calls().empty());
}

TEST(EventStream, WhatTheClientHasIsNotShownAgain) {
  EventStream stream;
  stream.SkipMessages({"m", "r"});
  stream.SkipCalls({"c"});
  stream.SkipResultsOf("d");
  stream.Text("m", "x");
  stream.Call("m", {.id = "c", .name = "f"});
  stream.Result("r", {"c", "1"});
  stream.Result("s", {"d", "1"});
  stream.FinishMessage(Answer("m"));
  EXPECT_TRUE(stream.empty());
  stream.Call("n", {.id = "e", .name = "f"});
  EXPECT_EQ(Summary(stream), "TOOL_CALL_START:e TOOL_CALL_ARGS:e TOOL_CALL_END:e");
}

TEST(EventStream, AVoidMessageIsEnded) {
  EventStream stream;
  stream.Text("m", "half");
  (void)stream.Take();
  EXPECT_TRUE(stream.Void("m"));
  EXPECT_EQ(Summary(stream), "TEXT_MESSAGE_END:m");
  EXPECT_FALSE(stream.Void("m"));
  EXPECT_FALSE(stream.Void("other"));
}

TEST(EventStream, BlocksThatNoMessageCanHaveAreCustomEvents) {
  EventStream stream;
  MediaBlock image;
  image.media.url = "https://example.com/a.png";
  stream.FinishMessage(Answer("m", {image, OtherBlock{"data", R"({"type":"data","x":1})"}}));
  const std::vector<json> events = Events(stream);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("name"), "agent-graph:content");
  EXPECT_EQ(events[0].at("value").at("messageId"), "m");
  EXPECT_EQ(events[0].at("value").at("content").size(), 2u);
}

}  // namespace
}  // namespace agent_graph::agui
