#include "run/host/stored_request.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "agent_graph/json.h"
#include "models/call_options.h"

namespace agent_graph::run {
namespace {

std::shared_ptr<const json> Json(const char* text) {
  return std::make_shared<const json>(json::parse(text));
}

RunRequest Example() {
  RunRequest request;
  request.scope = state::Scope::Owner("u1");
  request.user_id = "u1";
  request.user =
      Json(R"({"user_id":"u1","tenant":"t","email":"a@b","authz":{"scopes":["threads"]}})");
  request.messages = {Message::User("hi")};
  request.messages.front().id = "m1";
  request.messages.push_back(Message::ToolResult("c1", R"({"x":1})", true));
  request.config = Json(R"({"user_id":"u1","model":"m","secrets":{"key":"s3cret"}})");
  request.initial_context = {Message::Assistant("before")};
  request.initial_state = Json(R"({"topic":"rain"})");
  request.client_tools = {{"weather", "The weather.", R"({"type":"object"})"}};
  request.recursion_limit = 7;
  request.cancelled_after = std::chrono::milliseconds(1500);
  request.trace_parent = "00-1-2-01";
  request.action = "stream";
  request.tool_decisions = {
      {.call_id = "c2", .action = ToolDecision::Action::kResult, .result_json = "7"}};
  return request;
}

std::string Stored(RunRequest& request, const std::vector<std::string>& claims = {}) {
  Result<std::string> text = StoreRequest(request, claims, IdGenerator());
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return text.ok() ? *text : "";
}

TEST(StoredRequest, IsReadBack) {
  RunRequest request = Example();
  const Result<RunRequest> loaded = LoadRequest(Stored(request));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->scope.kind, state::Scope::Kind::kOwner);
  EXPECT_EQ(loaded->scope.user_id, "u1");
  EXPECT_EQ(loaded->user_id, "u1");
  ASSERT_EQ(loaded->messages.size(), 2u);
  EXPECT_EQ(loaded->messages[0].id, "m1");
  EXPECT_EQ(loaded->messages[0].Text(), "hi");
  ASSERT_EQ(loaded->messages[1].ToolResults().size(), 1u);
  EXPECT_EQ(loaded->messages[1].ToolResults()[0]->output_json, R"({"x":1})");
  ASSERT_EQ(loaded->initial_context.size(), 1u);
  EXPECT_EQ(loaded->initial_context[0].Text(), "before");
  EXPECT_EQ(*loaded->initial_state, *request.initial_state);
  ASSERT_TRUE(loaded->client_tools.has_value());
  ASSERT_EQ(loaded->client_tools->size(), 1u);
  EXPECT_EQ(loaded->client_tools->front().name, "weather");
  EXPECT_EQ(loaded->client_tools->front().description, "The weather.");
  EXPECT_EQ(loaded->client_tools->front().parameters_json, R"({"type":"object"})");
  EXPECT_EQ(loaded->recursion_limit, 7);
  EXPECT_EQ(loaded->cancelled_after.count(), 1500);
  EXPECT_EQ(loaded->trace_parent, "00-1-2-01");
  EXPECT_EQ(loaded->action, "stream");
  ASSERT_EQ(loaded->tool_decisions.size(), 1u);
  EXPECT_EQ(loaded->tool_decisions[0].call_id, "c2");
  EXPECT_EQ(loaded->tool_decisions[0].action, ToolDecision::Action::kResult);
  EXPECT_EQ(loaded->tool_decisions[0].result_json, "7");
}

TEST(StoredRequest, WhatTheRequestChangesInModelCallsIsReadBack) {
  RunRequest request = Example();
  request.note_json = R"({"background":true})";
  request.log_pieces = true;
  models::CallOptions options;
  options.instructions = "be brief";
  options.parameters_json = R"({"temperature":0.5})";
  options.tool_choice = models::CallOptions::ToolChoice::kNamed;
  options.tool_name = "weather";
  options.parallel_tool_calls = false;
  options.format = {.kind = models::CallOptions::Format::Kind::kJsonSchema,
                    .name = "a",
                    .schema_json = "{}",
                    .strict = true};
  request.call_options = std::make_shared<const models::CallOptions>(options);
  const Result<RunRequest> loaded = LoadRequest(Stored(request));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->note_json, request.note_json);
  EXPECT_TRUE(loaded->log_pieces);
  ASSERT_NE(loaded->call_options, nullptr);
  EXPECT_EQ(models::ToJson(*loaded->call_options), models::ToJson(options));
}

TEST(StoredRequest, AbsentPartsStayAbsent) {
  RunRequest request;
  request.messages = {Message::User("hi")};
  const Result<RunRequest> loaded = LoadRequest(Stored(request));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->scope.kind, state::Scope::Kind::kAll);
  EXPECT_EQ(loaded->user, nullptr);
  EXPECT_EQ(loaded->config, nullptr);
  EXPECT_EQ(loaded->initial_state, nullptr);
}

TEST(StoredRequest, OnlyNamedClaimsAndNoSecretsAreStored) {
  RunRequest request = Example();
  const std::string text = Stored(request, {"tenant"});
  EXPECT_EQ(text.find("a@b"), std::string::npos);
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
  const Result<RunRequest> loaded = LoadRequest(text);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded->user,
            json::parse(R"({"user_id":"u1","tenant":"t","authz":{"scopes":["threads"]}})"));
  EXPECT_EQ(*loaded->config, json::parse(R"({"user_id":"u1","model":"m"})"));
}

TEST(StoredRequest, EachMessageGetsAnIdThatEveryAttemptSees) {
  RunRequest request = Example();
  const Result<RunRequest> loaded = LoadRequest(Stored(request));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(request.messages[0].id, "m1");
  EXPECT_FALSE(request.messages[1].id.empty());
  EXPECT_EQ(loaded->messages[1].id, request.messages[1].id);
  EXPECT_EQ(loaded->initial_context[0].id, request.initial_context[0].id);
}

// Requests of other protocols are not checked by the same rules.
TEST(StoredRequest, CallsWithTheSameIdAreReadBack) {
  RunRequest request = Example();
  Message calling = Message::Assistant("");
  calling.content = {ToolCallBlock{.id = "c1", .name = "f"},
                     ToolCallBlock{.id = "c1", .name = "f"}};
  request.messages.push_back(calling);
  const Result<RunRequest> loaded = LoadRequest(Stored(request));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->messages.back().ToolCalls().size(), 2u);
}

TEST(StoredRequest, AVeryLargeRequestIsRefused) {
  RunRequest request;
  request.messages = {Message::User(std::string(kStoredRequestBytesMax, 'x'))};
  EXPECT_EQ(StoreRequest(request, {}, IdGenerator()).status().code(), StatusCode::kInvalidArgument);
}

TEST(StoredRequest, DamagedTextIsDataLoss) {
  RunRequest request = Example();
  const json good = json::parse(Stored(request));
  EXPECT_EQ(LoadRequest("").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(LoadRequest("[]").status().code(), StatusCode::kDataLoss);
  // Requests of an older build lack these.
  const std::set<std::string> added = {"action", "client_tools", "tool_decisions"};
  for (const auto& [name, value] : good.items()) {
    json without = good;
    without.erase(name);
    EXPECT_EQ(LoadRequest(without.dump()).ok(), added.contains(name)) << name;
    json other = good;
    other[name] = true;
    EXPECT_EQ(LoadRequest(other.dump()).status().code(), StatusCode::kDataLoss) << name;
  }
}

}  // namespace
}  // namespace agent_graph::run
