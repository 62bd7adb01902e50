// Servers without sessions that ask the user during a call.
#include "tools/mcp/protocol/elicitation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "elicitation_fixture.h"
#include "request_script.h"

namespace agent_graph::tools {
namespace {

using testing::Connection;
using ::testing::HasSubstr;

RequestScript::Answer Stateless(RequestScript::Answer call) {
  return [call = std::move(call)](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "server/discover") {
      return RequestScript::Reply(
          connection, request,
          {{"supportedVersions", {"2026-07-28"}}, {"capabilities", {{"tools", json::object()}}}});
    }
    if (request.method == "tools/list") {
      return RequestScript::Reply(
          connection, request,
          {{"tools", json::array({{{"name", "echo"}, {"inputSchema", {{"type", "object"}}}}})}});
    }
    return call(connection, request);
  };
}

json Required(const json& requests, const json& state = nullptr) {
  json result = {{"resultType", "input_required"}};
  if (!requests.is_null()) result["inputRequests"] = requests;
  if (!state.is_null()) result["requestState"] = state;
  return result;
}

json Elicit(const json& params) {
  return {{"method", "elicitation/create"}, {"params", params}};
}

TEST_F(McpElicitationTest, ACallIsMadeAgainWithTheAnswer) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    if (!request.params.contains("inputResponses")) {
      return RequestScript::Reply(connection, request,
                                  Required({{"who", Elicit(kAsk)}}, "{\"opaque\": 1 }"));
    }
    return RequestScript::Reply(connection, request, RequestScript::Text("ok"));
  }));
  MakeWith(server);
  CallInput input;
  Make(input);
  ASSERT_TRUE(input.pause);
  EXPECT_EQ(input.pause->asker, "s");
  ASSERT_EQ(input.pause->questions.size(), 1u);
  EXPECT_EQ(input.pause->questions[0].message, "Who?");
  EXPECT_EQ(input.pause->questions[0].schema, kForm);

  CallInput next = Answering(input, kBob);
  EXPECT_EQ(Make(next).json, R"("ok")");
  EXPECT_FALSE(next.pause);
  const auto calls = server.requests("tools/call");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_NE(calls[0].id, calls[1].id);
  EXPECT_EQ(calls[1].params["arguments"], json({{"a", 1}}));
  EXPECT_EQ(calls[1].params["inputResponses"], json({{"who", kBob}}));
  EXPECT_EQ(calls[1].params["requestState"], "{\"opaque\": 1 }");
  EXPECT_EQ(calls[0].params["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            mcp::ElicitationCapability());
}

// The page's host stays, although the server's address comes from a variable.
TEST_F(McpElicitationTest, SecretsAreBlottedOutOfQuestions) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    const std::string key = request.Header("X-Key");
    const json form = {{"message", "Who has " + key + "?"},
                       {"requestedSchema", {{"type", "object"}, {"title", key}}}};
    const json page = {{"message", "Look"},
                       {"mode", "url"},
                       {"url", "https://a-secret-token.example/p?key=" + key}};
    return RequestScript::Reply(
        connection, request,
        Required({{"form", Elicit(form)}, {"page", Elicit(page)}}, "state with " + key));
  }));
  McpServer settings;
  settings.headers = {{"X-Key", "${TOKEN}"}};
  MakeWith(server, settings);
  CallInput input;
  Make(input);
  ASSERT_TRUE(input.pause);
  ASSERT_EQ(input.pause->questions.size(), 2u);
  EXPECT_EQ(input.pause->questions[0].message, "Who has ***?");
  EXPECT_EQ(input.pause->questions[0].schema["title"], "***");
  EXPECT_EQ(input.pause->questions[1].url, "https://a-secret-token.example/p?key=***");
  EXPECT_EQ(input.pause->continuation["state"], "state with a-secret-token") << "for the server";
}

TEST_F(McpElicitationTest, NoStateIsSentWhereNoneCame) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    if (!request.params.contains("inputResponses")) {
      return RequestScript::Reply(connection, request, Required({{"who", Elicit(kAsk)}}));
    }
    return RequestScript::Reply(connection, request, RequestScript::Text("ok"));
  }));
  MakeWith(server);
  CallInput input;
  Make(input);
  CallInput next = Answering(input, kBob);
  EXPECT_EQ(Make(next).json, R"("ok")");
  EXPECT_FALSE(server.requests("tools/call").at(1).params.contains("requestState"));
}

TEST_F(McpElicitationTest, AServerThatOnlyWantsToBeAskedAgain) {
  std::atomic<int> calls = 0;
  RequestScript server(Stateless([&](Connection& connection, const ScriptedRequest& request) {
    if (calls++ == 0) {
      return RequestScript::Reply(connection, request, Required(nullptr, "later"));
    }
    EXPECT_EQ(request.params["requestState"], "later");
    return RequestScript::Reply(connection, request, RequestScript::Text("ok"));
  }));
  MakeWith(server);
  CallInput input;
  EXPECT_EQ(Make(input).json, R"("ok")");
  EXPECT_FALSE(input.pause);
}

TEST_F(McpElicitationTest, WhereNobodyCanBeAskedNothingIsOffered) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    EXPECT_EQ(request.params["_meta"]["io.modelcontextprotocol/clientCapabilities"],
              json::object());
    return RequestScript::Reply(connection, request, Required({{"who", Elicit(kAsk)}}));
  }));
  MakeWith(server);
  EXPECT_THAT(Call("echo").json, HasSubstr("asks for input that was not offered"));
  catalog_->Close(runtime_);
  MakeWith(server, {.elicitation = Elicitation::kDecline});
  CallInput input;
  EXPECT_THAT(Make(input).json, HasSubstr("asks for input that was not offered"));
  EXPECT_FALSE(input.pause);
}

TEST_F(McpElicitationTest, HostileRequestsForInput) {
  json many = json::object();
  for (int i = 0; i < 20; ++i) many[std::to_string(i)] = Elicit(kAsk);
  const std::vector<json> results = {
      Required(nullptr),
      Required(json::object()),
      Required(5),
      Required({{"q", 5}}),
      Required({{"q", {{"method", "sampling/createMessage"}}}}),
      Required({{"q", Elicit(5)}}),
      Required({{"q", Elicit({{"message", "x"}})}}),
      Required({{"q", Elicit({{"mode", "url"}, {"url", "javascript:alert(1)"}})}}),
      Required({{"q", Elicit({{"mode", "url"}, {"url", "https://h/ x"}})}}),
      Required({{"q", Elicit({{"mode", 5}, {"requestedSchema", kForm}})}}),
      Required(
          {{"q", Elicit({{"message", std::string(100'000, 'x')}, {"requestedSchema", kForm}})}}),
      Required({{std::string(1000, 'k'), Elicit(kAsk)}}),
      Required(many),
      Required({{"q", Elicit(kAsk)}}, 5),
      Required({{"q", Elicit(kAsk)}}, std::string(100'000, 'x')),
  };
  for (const json& result : results) {
    RequestScript server(Stateless([&](Connection& connection, const ScriptedRequest& request) {
      return RequestScript::Reply(connection, request, result);
    }));
    MakeWith(server);
    CallInput input;
    EXPECT_TRUE(Make(input).is_error) << result.dump().substr(0, 200);
    EXPECT_FALSE(input.pause);
    EXPECT_EQ(server.requests("tools/call").size(), 1u);
    catalog_->Close(runtime_);
  }
}

TEST_F(McpElicitationTest, AServerThatWantsToBeAskedForEver) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Reply(connection, request, Required(nullptr, "again"));
  }));
  MakeWith(server);
  const ToolList list = List();
  ASSERT_EQ(list.size(), 1u);
  TestContext context({}, DeadlineAfter(std::chrono::milliseconds(400)));
  EXPECT_TRUE(Run([&] { return list[0]->tool.function(json::object(), context); }).is_error);
  EXPECT_LE(server.requests("tools/call").size(), 8u);
}

TEST(McpContinuationTest, BothWays) {
  mcp::Continuation stream;
  stream.kind = mcp::Continuation::Kind::kStream;
  stream.session_id = "s";
  stream.revision = "2025-11-25";
  stream.call_id = 7;
  stream.question_id = 8;
  stream.last_event_id = "e";
  mcp::Continuation repeat;
  repeat.kind = mcp::Continuation::Kind::kRepeat;
  repeat.known = {{"d", {{"action", "cancel"}}}};
  mcp::Continuation state;
  state.kind = mcp::Continuation::Kind::kState;
  state.state = "x";
  mcp::Continuation required;
  required.kind = mcp::Continuation::Kind::kRequired;
  for (const mcp::Continuation& each : {stream, repeat, state, required, mcp::Continuation()}) {
    EXPECT_EQ(mcp::Continuation::FromJson(each.ToJson()).ToJson(), each.ToJson());
  }
  for (const json& value : {json(), json(5), json::object(), json({{"kind", 5}}),
                            json({{"kind", "repeat"}, {"known", json::array({5})}})}) {
    mcp::Continuation::FromJson(value);
  }
}

}  // namespace
}  // namespace agent_graph::tools
