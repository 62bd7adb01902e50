// Servers that repeat the secrets of their requests.
#include <gtest/gtest.h>

#include <atomic>

#include "catalog_fixture.h"
#include "request_script.h"

namespace agent_graph::tools {
namespace {

using testing::Connection;

class McpSecretsTest : public CatalogTest {
 protected:
  void MakeFor(const RequestScript& server) {
    McpServer settings;
    settings.protocol = "2025-11-25";
    settings.headers = {{"X-Key", "${TOKEN}"}};
    MakeWith(server, settings);
  }
};

TEST_F(McpSecretsTest, InResults) {
  json result;
  RequestScript server(WithSession([&](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Reply(connection, request, result);
  }));
  MakeFor(server);
  result = {{"structuredContent", {{"headers", {"X-Key: a-secret-token"}}, {"a-secret-token", 1}}}};
  EXPECT_EQ(Call("echo").json, R"({"headers":["X-Key: ***"],"***":1})");
  result = RequestScript::Text("refused: a-secret-token");
  result["isError"] = true;
  const ToolOutput failed = Call("echo");
  EXPECT_TRUE(failed.is_error);
  EXPECT_EQ(failed.json, R"("refused: ***")");
}

TEST_F(McpSecretsTest, InDescriptionsOfTools) {
  const auto session = WithSession(nullptr);
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method != "tools/list") return session(connection, request);
    json tool = {{"name", "echo"},
                 {"description", "Calls with a-secret-token"},
                 {"inputSchema", {{"type", "object"}, {"title", "a-secret-token"}}}};
    return RequestScript::Reply(connection, request, {{"tools", json::array({tool})}});
  });
  MakeFor(server);
  const ToolList list = List();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]->tool.description, "Calls with ***");
  EXPECT_EQ(list[0]->tool.parameters_json, R"({"type":"object","title":"***"})");
}

TEST_F(McpSecretsTest, InErrorsThatAreCut) {
  size_t before = 0;
  RequestScript server(WithSession([&](Connection& connection, const ScriptedRequest& request) {
    const std::string text = std::string(before, 'x') + request.Header("X-Key");
    return RequestScript::Refuse(connection, request, "200 OK", {{"code", -1}, {"message", text}});
  }));
  MakeFor(server);
  for (const size_t bytes : {0u, 480u, 490u, 499u}) {
    before = bytes;
    const std::string shown = std::string(bytes, 'x') + "***";
    EXPECT_EQ(Call("echo").json, "\"" + shown.substr(0, 500) + "\"");
  }
}

TEST_F(McpSecretsTest, TokensOfOAuth) {
  std::atomic<bool> refuses{true};
  RequestScript script([&](Connection& connection, const ScriptedRequest& request) {
    const std::string text = "you sent " + request.Header("Authorization");
    if (request.path == "/token") {
      return RequestScript::Json(connection,
                                 {{"access_token", "an-access-token"}, {"token_type", "Bearer"}});
    }
    if (request.method == "tools/call" && refuses) {
      return RequestScript::Refuse(connection, request, "200 OK",
                                   {{"code", -1}, {"message", text}});
    }
    if (request.method == "tools/call") {
      json result = RequestScript::Text(text);
      result["isError"] = true;
      return RequestScript::Reply(connection, request, result);
    }
    return WithSession(nullptr)(connection, request);
  });
  McpServer settings;
  settings.protocol = "2025-11-25";
  settings.oauth.client_id = "me";
  settings.oauth.token_endpoint = script.origin() + "/token";
  MakeWith(script, settings);
  EXPECT_EQ(Call("echo").json, R"("you sent Bearer ***")");
  refuses = false;
  const ToolOutput failed = Call("echo");
  EXPECT_TRUE(failed.is_error);
  EXPECT_EQ(failed.json, R"("you sent Bearer ***")");
}

TEST_F(McpSecretsTest, InTheRefusalOfASession) {
  RequestScript server([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Refuse(connection, request, "200 OK",
                                 {{"code", -1}, {"message", request.Header("X-Key")}});
  });
  MakeFor(server);
  EXPECT_TRUE(List().empty());
  EXPECT_NE(log().find("***"), std::string::npos) << log();
  EXPECT_EQ(log().find("a-secret-token"), std::string::npos) << log();
}

}  // namespace
}  // namespace agent_graph::tools
