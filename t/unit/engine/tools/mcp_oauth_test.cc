// An MCP server that requires access tokens, and the authorization server that issues them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>

#include "base/base64.h"
#include "catalog_fixture.h"
#include "request_script.h"

namespace agent_graph::tools {
namespace {

using testing::Connection;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kResource[] = "/.well-known/oauth-protected-resource/mcp";
constexpr char kIssuer[] = "/.well-known/oauth-authorization-server";

// Both servers in one. Tokens are "token-1", "token-2", …; only the newest one is valid.
class Authorization {
 public:
  Authorization()
      : script_([this](Connection& connection, const ScriptedRequest& request) {
          return Answer(connection, request);
        }) {}

  std::string url() const { return script_.url(); }
  std::string origin() const { return script_.origin(); }
  const RequestScript& script() const { return script_; }
  std::vector<ScriptedRequest> token_requests() const { return script_.requests_of("/token"); }
  int issued() const { return issued_; }
  // Makes the valid token invalid.
  void Revoke() { revoked_ = issued_.load(); }

  json resource_document() const {
    return {{"resource", script_.url()},
            {"authorization_servers", {issuer.value_or(origin())}},
            {"scopes_supported", {"basic"}}};
  }

  // Behaviour that tests configure.
  std::optional<std::string> issuer;  // named by the MCP server
  std::atomic<bool> has_metadata{true};
  std::atomic<int> lifetime{3600};
  std::atomic<bool> refuses_tokens{false};  // the MCP server refuses all of them
  std::string needs_scope;                  // for tool calls
  std::string challenge_scope;
  json token_error;  // null: tokens are issued
  std::vector<std::string> methods = {"client_secret_basic", "client_secret_post"};
  json issuer_document_change = json::object();
  std::string new_refresh_token;

 private:
  bool Answer(Connection& connection, const ScriptedRequest& request) {
    if (request.path == kResource) {
      if (!has_metadata) return RequestScript::Send(connection, "404 No", "", "");
      return RequestScript::Json(connection, resource_document());
    }
    if (request.path == kIssuer) {
      json document = {{"issuer", origin()},
                       {"token_endpoint", origin() + "/token"},
                       {"token_endpoint_auth_methods_supported", methods}};
      document.update(issuer_document_change);
      return RequestScript::Json(connection, document);
    }
    if (request.path == "/token") return Issue(connection, request);
    if (request.path != "/mcp") return RequestScript::Send(connection, "404 No", "", "");
    return Serve(connection, request);
  }

  bool Issue(Connection& connection, const ScriptedRequest& request) {
    if (!token_error.is_null()) {
      return RequestScript::Send(connection, "400 Bad", "Content-Type: application/json\r\n",
                                 token_error.dump());
    }
    scope_ = request.text.find(needs_scope) != std::string::npos;
    json reply = {{"access_token", "token-" + std::to_string(++issued_)},
                  {"token_type", "Bearer"},
                  {"expires_in", lifetime.load()}};
    if (!new_refresh_token.empty()) reply["refresh_token"] = new_refresh_token;
    return RequestScript::Json(connection, reply);
  }

  bool Serve(Connection& connection, const ScriptedRequest& request) {
    const std::string token = "Bearer token-" + std::to_string(issued_);
    if (refuses_tokens || issued_ == revoked_ || request.Header("Authorization") != token) {
      return Challenge(connection, "401 Who", "error=\"invalid_token\"");
    }
    if (request.method == "tools/call" && !scope_) {
      return Challenge(connection, "403 More",
                       "error=\"insufficient_scope\", scope=\"" + needs_scope + "\"");
    }
    return WithSession([](Connection& c, const ScriptedRequest& r) {
      return RequestScript::Reply(c, r, RequestScript::Text("ok"));
    })(connection, request);
  }

  bool Challenge(Connection& connection, const std::string& status, const std::string& more) {
    std::string header = "WWW-Authenticate: Bearer " + more;
    if (has_metadata) header += ", resource_metadata=\"" + origin() + kResource + "\"";
    if (!challenge_scope.empty()) header += ", scope=\"" + challenge_scope + "\"";
    return RequestScript::Send(connection, status, header + "\r\n", "");
  }

  std::atomic<int> issued_{0};
  std::atomic<int> revoked_{0};
  std::atomic<bool> scope_{true};
  RequestScript script_;
};

class McpOAuthTest : public CatalogTest {
 protected:
  void MakeFor(const Authorization& server, McpOAuth oauth = {}) {
    oauth.client_id = "me";
    if (oauth.client_secret.empty() && oauth.private_key.empty()) {
      oauth.client_secret = "${TOKEN}";
    }
    McpServer settings;
    settings.oauth = oauth;
    settings.protocol = "2025-11-25";
    MakeWith(server, settings);
  }
};

TEST_F(McpOAuthTest, ATokenWhenTheServerAsksForOne) {
  Authorization server;
  MakeFor(server);
  EXPECT_EQ(Call("echo").json, R"("ok")");
  const auto asked = server.token_requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].Header("Authorization"), "Basic " + EncodeBase64("me:a-secret-token"));
  EXPECT_THAT(asked[0].text, HasSubstr("grant_type=client_credentials"));
  EXPECT_THAT(asked[0].text, HasSubstr("scope=basic"));
  EXPECT_THAT(asked[0].text, HasSubstr("resource=http%3A%2F%2F127.0.0.1%3A"));
  EXPECT_THAT(asked[0].text, Not(HasSubstr("secret")));
  EXPECT_EQ(server.script().requests("tools/call").size(), 1u);
  EXPECT_EQ(Call("echo").json, R"("ok")");
  EXPECT_EQ(server.issued(), 1) << "it is kept";
}

TEST_F(McpOAuthTest, AnotherTokenWhenTheServerRefusesOne) {
  Authorization server;
  MakeFor(server);
  EXPECT_EQ(Call("echo").json, R"("ok")");
  server.Revoke();
  EXPECT_EQ(Call("echo").json, R"("ok")");
  EXPECT_EQ(server.issued(), 2);
}

TEST_F(McpOAuthTest, RenewedBeforeItExpires) {
  Authorization server;
  server.lifetime = 0;
  MakeFor(server);
  EXPECT_EQ(Call("echo").json, R"("ok")");
  const int before = server.issued();
  EXPECT_EQ(Call("echo").json, R"("ok")");
  EXPECT_GT(server.issued(), before);
  for (const ScriptedRequest& request : server.script().requests("tools/call")) {
    EXPECT_NE(request.Header("Authorization"), "") << "no call is made to be refused";
  }
}

TEST_F(McpOAuthTest, ATokenForManyCallersIsFetchedOnce) {
  Authorization server;
  MakeFor(server);
  const ToolList list = List();
  ASSERT_EQ(list.size(), 1u);
  server.Revoke();
  std::vector<std::future<ToolOutput>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::async(std::launch::async, [&] {
      return Run([&] { return list[0]->tool.function(json::object(), context_); });
    }));
  }
  for (auto& call : calls) EXPECT_EQ(call.get().json, R"("ok")");
  EXPECT_EQ(server.issued(), 2);
}

TEST_F(McpOAuthTest, AKnownIssuerIsAskedBeforeAnythingFails) {
  Authorization server;
  MakeFor(server, {.issuer = server.origin()});
  EXPECT_EQ(Call("echo").json, R"("ok")");
  for (const ScriptedRequest& request : server.script().requests_of("/mcp")) {
    EXPECT_NE(request.Header("Authorization"), "");
  }
}

TEST_F(McpOAuthTest, AKnownTokenEndpointNeedsNoMetadata) {
  Authorization server;
  MakeFor(server, {.token_endpoint = server.origin() + "/token"});
  EXPECT_EQ(Call("echo").json, R"("ok")");
  EXPECT_TRUE(server.script().requests_of(kIssuer).empty());
  EXPECT_TRUE(server.script().requests_of(kResource).empty());
}

TEST_F(McpOAuthTest, AServerWithoutMetadataOfItsOwn) {
  Authorization server;
  server.has_metadata = false;
  MakeFor(server);
  EXPECT_EQ(Call("echo").json, R"("ok")");
  EXPECT_EQ(server.script().requests_of("/.well-known/oauth-protected-resource").size(), 1u);
}

// Client authentication

TEST_F(McpOAuthTest, TheSecretInTheBody) {
  for (const bool configured : {true, false}) {
    Authorization server;
    if (!configured) server.methods = {"client_secret_post"};
    MakeFor(server, {.authentication = configured ? "client_secret_post" : ""});
    EXPECT_EQ(Call("echo").json, R"("ok")");
    const ScriptedRequest asked = server.token_requests().at(0);
    EXPECT_THAT(asked.text, HasSubstr("client_id=me&client_secret=a-secret-token"));
    EXPECT_EQ(asked.Header("Authorization"), "");
    catalog_->Close(runtime_);
  }
}

TEST_F(McpOAuthTest, NoWayToAuthenticate) {
  Authorization server;
  server.methods = {"tls_client_auth"};
  MakeFor(server);
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("supports no way to authenticate that is known"));
  EXPECT_EQ(server.issued(), 0);
}

// Scopes

TEST_F(McpOAuthTest, ScopesOfTheChallengeCountMoreThanThoseOfTheMetadata) {
  Authorization server;
  server.challenge_scope = "read write";
  MakeFor(server);
  EXPECT_EQ(Call("echo").json, R"("ok")");
  EXPECT_THAT(server.token_requests().at(0).text, HasSubstr("scope=read%20write"));
}

TEST_F(McpOAuthTest, ConfiguredScopesCountMost) {
  Authorization server;
  server.challenge_scope = "everything";
  MakeFor(server, {.scopes = {"little"}});
  EXPECT_EQ(Call("echo").json, R"("ok")");
  EXPECT_THAT(server.token_requests().at(0).text, HasSubstr("scope=little"));
}

TEST_F(McpOAuthTest, ACallThatNeedsMoreScopes) {
  Authorization server;
  server.needs_scope = "admin";
  MakeFor(server);
  EXPECT_EQ(Call("echo").json, R"("ok")");
  const auto asked = server.token_requests();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_THAT(asked[1].text, HasSubstr("admin"));
}

TEST_F(McpOAuthTest, NeverMoreScopesThanConfigured) {
  Authorization server;
  server.needs_scope = "admin";
  MakeFor(server, {.scopes = {"little"}});
  const ToolOutput output = Call("echo");
  EXPECT_TRUE(output.is_error);
  EXPECT_THAT(output.json, HasSubstr("wants a token for admin, and other scopes are configured"));
  EXPECT_EQ(server.issued(), 1);
}

// Limits

TEST_F(McpOAuthTest, AServerThatRefusesEveryToken) {
  Authorization server;
  server.refuses_tokens = true;
  MakeFor(server);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("the server refuses the token that was issued for it"));
  EXPECT_EQ(server.issued(), 1);
}

TEST_F(McpOAuthTest, ATokenEndpointThatRefuses) {
  Authorization server;
  server.token_error = {{"error", "invalid_client"},
                        {"error_description", "no: a-secret-token\nsecond line"}};
  MakeFor(server);
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(),
              HasSubstr("no access token: the token endpoint refused: invalid_client (no: ***"));
  EXPECT_THAT(log(), Not(HasSubstr("a-secret-token")));
  const size_t asked = server.token_requests().size();
  EXPECT_EQ(asked, 1u);
  for (int i = 0; i < 20; ++i) List();
  EXPECT_EQ(server.token_requests().size(), 1u) << "it is not asked for each run";
}

// Where credentials may be sent

TEST_F(McpOAuthTest, MetadataOfAnotherResource) {
  RequestScript script([](Connection& connection, const ScriptedRequest& request) {
    if (request.path == kResource) {
      return RequestScript::Json(connection, {{"resource", "https://evil.example.com/mcp"},
                                              {"authorization_servers", {"https://evil"}}});
    }
    return RequestScript::Send(connection, "401 Who", "WWW-Authenticate: Bearer\r\n", "");
  });
  McpServer settings;
  settings.oauth = {.client_id = "me", .client_secret = "s"};
  MakeWith(script, settings);
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("is of another resource: https://evil.example.com/mcp"));
}

TEST_F(McpOAuthTest, AnIssuerThatSaysItIsAnother) {
  Authorization server;
  server.issuer_document_change = {{"issuer", "https://other"}};
  MakeFor(server);
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("is of another issuer: https://other"));
  EXPECT_EQ(server.issued(), 0);
}

TEST_F(McpOAuthTest, ATokenEndpointWithoutProtection) {
  Authorization server;
  server.issuer_document_change = {{"token_endpoint", "http://192.0.2.1/token"}};
  MakeFor(server);
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("no token endpoint that can be used"));
}

TEST_F(McpOAuthTest, AnIssuerThatTheCredentialsAreNotFor) {
  Authorization server;
  server.issuer = "https://another.example.com";
  MakeFor(server, {.issuer = server.origin()});
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("which the credentials are for"));
  EXPECT_EQ(server.issued(), 0);
}

// Refresh tokens

TEST_F(McpOAuthTest, ARefreshTokenIsExchanged) {
  Authorization server;
  server.new_refresh_token = "second-refresh";
  server.lifetime = 0;
  MakeFor(server, {.refresh_token = "first-refresh"});
  EXPECT_EQ(Call("echo").json, R"("ok")");
  const auto asked = server.token_requests();
  ASSERT_GE(asked.size(), 2u);
  EXPECT_THAT(asked[0].text, HasSubstr("grant_type=refresh_token&refresh_token=first-refresh"));
  EXPECT_THAT(asked[0].text, Not(HasSubstr("scope=")));
  EXPECT_THAT(asked[1].text, HasSubstr("refresh_token=second-refresh"));
}

// Invalid settings in a graph

TEST(McpOAuthSettingsTest, Mistakes) {
  const auto problem = [](McpOAuth oauth) {
    McpServer server{.name = "m", .url = "https://h/mcp"};
    server.oauth = std::move(oauth);
    server.oauth.client_id = "me";
    return Catalog::Create({{"N", {}, {server}}}, {}).status().message();
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(
      problem({.client_secret = "${NO}"}),
      "node \"N\", MCP server \"m\": oauth.client_secret: environment variable NO is not set");
  EXPECT_EQ(problem({.private_key = "nonsense"}),
            "node \"N\", MCP server \"m\": oauth.private_key: is not a private key in PEM form");
  EXPECT_EQ(problem({.issuer = "as"}),
            "node \"N\", MCP server \"m\": oauth.issuer: must be an http or https URL");
}

}  // namespace
}  // namespace agent_graph::tools
