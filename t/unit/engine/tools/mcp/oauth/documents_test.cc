// Documents that an OAuth client parses: challenges, metadata, replies of token endpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "tools/mcp/oauth/challenge.h"
#include "tools/mcp/oauth/metadata.h"
#include "tools/mcp/oauth/token_request.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OAuthChallengeTest, OfABearerChallenge) {
  const Challenge challenge = ReadChallenge(
      "Bearer realm=\"a, b\", error=\"insufficient_scope\", scope=\"read write\", "
      "resource_metadata=\"https://h/.well-known/x\"");
  EXPECT_EQ(challenge.error, "insufficient_scope");
  EXPECT_THAT(challenge.scopes, ElementsAre("read", "write"));
  EXPECT_EQ(challenge.resource_metadata, "https://h/.well-known/x");
}

TEST(OAuthChallengeTest, AmongOthers) {
  const Challenge challenge = ReadChallenge(
      "Negotiate a87421000492aa874209af8bc028==, Basic scope=\"no\", bearer ERROR = token , "
      "scope=one, Digest error=\"no\"");
  EXPECT_EQ(challenge.error, "token");
  EXPECT_THAT(challenge.scopes, ElementsAre("one"));
}

TEST(OAuthChallengeTest, EscapesInQuotes) {
  EXPECT_EQ(ReadChallenge(R"(Bearer error="a\"b\\c")").error, "a\"b\\c");
}

TEST(OAuthChallengeTest, Nonsense) {
  for (const char* header : {"", ",,,", "=", "Bearer", "Bearer =", "Bearer \"",
                             "Bearer error=", "Bearer error=\"", "\"\"\"\"", "a=b", "= = ="}) {
    EXPECT_EQ(ReadChallenge(header).error, "") << header;
  }
  EXPECT_EQ(ReadChallenge("Bearer scope=\"" + std::string(100'000, 'x') + "\"").scopes.size(), 1u);
  std::string many = "Bearer scope=\"";
  for (int i = 0; i < 1000; ++i) many += "s" + std::to_string(i) + " ";
  EXPECT_EQ(ReadChallenge(many + "\"").scopes.size(), 64u);
}

TEST(OAuthMetadataTest, PlacesOfDocuments) {
  EXPECT_THAT(ResourceDocuments("https://h:8443/a/mcp?x=1", ""),
              ElementsAre("https://h:8443/.well-known/oauth-protected-resource/a/mcp",
                          "https://h:8443/.well-known/oauth-protected-resource"));
  EXPECT_THAT(ResourceDocuments("https://h/", ""),
              ElementsAre("https://h/.well-known/oauth-protected-resource"));
  EXPECT_THAT(ResourceDocuments("https://h/mcp", "https://h/told"), ElementsAre("https://h/told"));
  EXPECT_THAT(ResourceDocuments("https://h/mcp", "https://169.254.169.254/x"), IsEmpty());
  EXPECT_THAT(ResourceDocuments("https://h/mcp", "https://a@h/told"), IsEmpty());
  EXPECT_THAT(IssuerDocuments("https://h"),
              ElementsAre("https://h/.well-known/oauth-authorization-server",
                          "https://h/.well-known/openid-configuration"));
  EXPECT_THAT(IssuerDocuments("https://h/tenant"),
              ElementsAre("https://h/.well-known/oauth-authorization-server/tenant",
                          "https://h/.well-known/openid-configuration/tenant",
                          "https://h/tenant/.well-known/openid-configuration"));
}

TEST(OAuthMetadataTest, WhereCredentialsMayGo) {
  for (const char* url :
       {"https://h/token", "http://localhost:1/t", "http://127.0.0.1/t", "http://[::1]:80/t"}) {
    EXPECT_TRUE(IsConfidential(url)) << url;
  }
  for (const char* url : {"http://h/token", "ftp://localhost/", "https://user@h/", "", "x",
                          "http://127.0.0.1.evil.com/", "http://localhost.evil.com/"}) {
    EXPECT_FALSE(IsConfidential(url)) << url;
  }
}

TEST(OAuthMetadataTest, TheResourceOfAServer) {
  const auto read = [](const char* resource, const char* url) {
    return ReadResource({{"resource", resource}, {"authorization_servers", {"https://as"}}}, url);
  };
  EXPECT_TRUE(read("https://h/mcp", "https://h/mcp").ok());
  EXPECT_TRUE(read("https://h", "https://h/mcp").ok());
  EXPECT_TRUE(read("https://h/", "https://h/mcp").ok());
  EXPECT_TRUE(read("https://H:443/mcp", "https://h/mcp/x").ok());
  EXPECT_THAT(read("https://h/mcp", "https://h/mcp")->issuers, ElementsAre("https://as"));
  for (const char* resource : {"https://evil/mcp", "https://h/mc", "https://h/mcp/x",
                               "http://h/mcp", "https://h:444/mcp", "", "h"}) {
    EXPECT_THAT(read(resource, "https://h/mcp").status().message(),
                HasSubstr("of another resource"))
        << resource;
  }
  for (const json& document : {json(5), json::array(), json::object(), json({{"resource", 5}})}) {
    EXPECT_FALSE(ReadResource(document, "https://h/mcp").ok());
  }
  EXPECT_THAT(
      ReadResource({{"resource", "https://h"}, {"authorization_servers", {1, "a", nullptr}}},
                   "https://h")
          ->issuers,
      ElementsAre("a"));
}

TEST(OAuthMetadataTest, AnIssuersOwnDocument) {
  const auto read = [](const json& document) { return ReadIssuer(document, "https://as"); };
  const json good = {{"issuer", "https://as"}, {"token_endpoint", "https://as/token"}};
  EXPECT_EQ(read(good)->token_endpoint, "https://as/token");
  json other = good;
  other["issuer"] = "https://as/";
  EXPECT_THAT(read(other).status().message(), HasSubstr("of another issuer"));
  for (const json& endpoint : {json("http://h/token"), json(), json(5), json("file:///x")}) {
    json document = good;
    document["token_endpoint"] = endpoint;
    EXPECT_THAT(read(document).status().message(), HasSubstr("no token endpoint"));
  }
  EXPECT_FALSE(read(json::array()).ok());
}

TEST(OAuthTokenReplyTest, Tokens) {
  const TokenReply reply = *ReadTokenReply(200, R"({"access_token":"abc","token_type":"bearer",
      "expires_in":60,"refresh_token":"r","scope":"a b"})");
  EXPECT_EQ(reply.access_token, "abc");
  EXPECT_EQ(reply.refresh_token, "r");
  EXPECT_EQ(reply.lifetime, std::chrono::seconds(60));
  EXPECT_THAT(*reply.scopes, ElementsAre("a", "b"));
  const auto lifetime = [](const std::string& value) {
    return ReadTokenReply(
               200, R"({"access_token":"a","token_type":"Bearer","expires_in":)" + value + "}")
        ->lifetime;
  };
  EXPECT_EQ(lifetime("\"90\""), std::chrono::seconds(90));
  EXPECT_EQ(lifetime("-1"), std::chrono::seconds(0));
  EXPECT_EQ(lifetime("1e300"), std::chrono::hours(365 * 24));
  EXPECT_EQ(lifetime("\"soon\""), std::nullopt);
  EXPECT_EQ(lifetime("null"), std::nullopt);
}

TEST(OAuthTokenReplyTest, Failures) {
  for (const char* body :
       {"", "[]", "{}", R"({"access_token":"a"})", R"({"access_token":"a","token_type":"mac"})",
        R"({"access_token":"a b","token_type":"bearer"})",
        R"({"access_token":"a\r\nX: y","token_type":"bearer"})",
        R"({"access_token":"","token_type":"bearer"})",
        R"({"access_token":5,"token_type":"bearer"})"}) {
    EXPECT_EQ(ReadTokenReply(200, body).status().code(), StatusCode::kUnavailable) << body;
  }
  const Status refused =
      ReadTokenReply(400, R"({"error":"invalid_grant","error_description":"old\nline"})").status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "the token endpoint refused: invalid_grant (old line)");
  EXPECT_EQ(refused.detail(), "invalid_grant");
  EXPECT_EQ(ReadTokenReply(502, "<html>").status().message(),
            "the token endpoint answered HTTP 502");
}

}  // namespace
}  // namespace agent_graph::tools::mcp::oauth
