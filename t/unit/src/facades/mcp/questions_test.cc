// Questions of paused runs: what a client is asked, and which messages its answers become.
#include "facades/mcp/questions.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "facades/mcp/peer.h"

namespace agent_graph::mcp {
namespace {

constexpr char kAsked[] =
    R"({"node":"TOOLS","reason":"a tool asks the user","data":{"elicitations":[
       {"id":"c/1","message":"Who?","requested_schema":{"type":"object"}},
       {"id":"c/2","message":"Sign in","url":"https://example.com"}]}})";

Peer PeerWith(const json& elicitation, std::string_view revision = kStatelessRevision) {
  Peer peer;
  peer.revision = revision;
  ReadCapabilities({{"elicitation", elicitation}}, peer);
  return peer;
}

TEST(Questions, ToolsAskForFormsAndPages) {
  const Pause pause = ReadPause(kAsked);
  ASSERT_EQ(pause.questions.size(), 2u);
  EXPECT_TRUE(pause.by_tools);
  const Peer peer = PeerWith({{"form", json::object()}, {"url", json::object()}});
  const json form = json::parse(ElicitationParams(pause.questions[0], peer));
  EXPECT_EQ(
      form,
      (json{{"mode", "form"}, {"message", "Who?"}, {"requestedSchema", {{"type", "object"}}}}));
  const json page = json::parse(ElicitationParams(pause.questions[1], peer));
  EXPECT_EQ(page["mode"], "url");
  EXPECT_EQ(page["url"], "https://example.com");
  EXPECT_FALSE(json::parse(ElicitationParams(pause.questions[0], PeerWith({}, "2025-06-18")))
                   .contains("mode"));
}

TEST(Questions, OnlyClientsThatCanAnswerAreAsked) {
  const Pause pause = ReadPause(kAsked);
  EXPECT_TRUE(
      CanAsk(PeerWith({{"form", json::object()}, {"url", json::object()}}), pause.questions));
  EXPECT_FALSE(CanAsk(PeerWith({{"form", json::object()}}), pause.questions));
  EXPECT_FALSE(CanAsk(PeerWith({{"url", json::object()}}), pause.questions));
  EXPECT_FALSE(CanAsk(Peer(), pause.questions));
  // An empty capability means forms.
  EXPECT_TRUE(CanAsk(PeerWith(json::object()), {pause.questions[0]}));
  EXPECT_FALSE(CanAsk(PeerWith(json::object()), {}));
}

TEST(Questions, AGraphThatWaitsAsksForAMessage) {
  const Pause pause =
      ReadPause(R"({"node":"A","reason":"before node A","status":"interrupted_before"})");
  ASSERT_EQ(pause.questions.size(), 1u);
  EXPECT_EQ(pause.questions[0].message, "before node A");
  const auto messages =
      AnswerMessages(pause, {{{"action", "accept"}, {"content", {{"message", "yes"}}}}});
  ASSERT_TRUE(messages);
  EXPECT_EQ((*messages)[0].role, Role::kUser);
  EXPECT_EQ((*messages)[0].Text(), "yes");
  EXPECT_FALSE(AnswerMessages(pause, {{{"action", "decline"}}}));
  EXPECT_FALSE(AnswerMessages(pause, {{{"action", "accept"}, {"content", {{"message", " "}}}}}));
}

TEST(Questions, WhatNoUserCanAnswerIsNotAsked) {
  for (const char* data : {R"({"remote_tool_calls":[]})", R"({"undecided_tool_calls":[]})"}) {
    EXPECT_TRUE(ReadPause(std::string(R"({"reason":"x","data":)") + data + "}").questions.empty());
  }
  EXPECT_TRUE(ReadPause("").questions.empty());
  EXPECT_TRUE(ReadPause("[]").questions.empty());
}

TEST(Questions, AnswersBecomeResultsOfTheQuestions) {
  const Pause pause = ReadPause(kAsked);
  const auto messages =
      AnswerMessages(pause, {{{"action", "accept"}, {"content", {{"name", "Bob"}}}, {"_meta", 1}},
                             {{"action", "cancel"}}});
  ASSERT_EQ(messages->size(), 2u);
  const ToolResultBlock* first = (*messages)[0].ToolResults().at(0);
  EXPECT_EQ(first->call_id, "c/1");
  EXPECT_EQ(json::parse(first->output_json),
            (json{{"action", "accept"}, {"content", {{"name", "Bob"}}}}));
  EXPECT_EQ(json::parse((*messages)[1].ToolResults().at(0)->output_json),
            (json{{"action", "cancel"}}));
}

TEST(Questions, AnAnswerHasAnActionAndAtMostAnObject) {
  EXPECT_TRUE(IsAnswer({{"action", "accept"}, {"content", json::object()}}));
  EXPECT_TRUE(IsAnswer({{"action", "decline"}, {"content", nullptr}}));
  for (const json& value : {json(1), json::object(), json{{"action", "maybe"}},
                            json{{"action", "accept"}, {"content", 1}}}) {
    EXPECT_FALSE(IsAnswer(value)) << value.dump();
  }
}

}  // namespace
}  // namespace agent_graph::mcp
