#include "auth/credential.h"

#include <gtest/gtest.h>

namespace agent_graph::auth {
namespace {

using Found = std::optional<std::string>;

Found Http(bridge::HeaderList headers, std::string query = "") {
  bridge::RequestHead head;
  head.headers = std::move(headers);
  head.query = std::move(query);
  return FindCredential(head, false);
}

Found WebSocket(bridge::HeaderList headers, std::string query = "") {
  bridge::RequestHead head;
  head.headers = std::move(headers);
  head.query = std::move(query);
  return FindCredential(head, true, {"other-bearer"});
}

TEST(Credential, IsTheBearerOfTheAuthorizationHeader) {
  EXPECT_EQ(Http({{"authorization", "Bearer abc"}}), "abc");
  EXPECT_EQ(Http({{"authorization", "bEaReR  abc "}}), "abc");
  EXPECT_EQ(Http({{"authorization", "Bearer\tabc"}}), "abc");
  EXPECT_EQ(Http({{"authorization", "Bearer a b"}}), "a b");
}

TEST(Credential, IgnoresOtherSchemes) {
  for (const char* value :
       {"", "abc", "Bearer", "Bearer ", "Bearerabc", "Basic YTpi", "Token abc", "XBearer abc"}) {
    EXPECT_EQ(Http({{"authorization", value}}), std::nullopt) << value;
  }
  EXPECT_EQ(Http({}), std::nullopt);
}

TEST(Credential, OnlyAHandshakeTakesProtocolsAndQuery) {
  bridge::HeaderList protocols = {{"sec-websocket-protocol", "service-bearer, abc"}};
  EXPECT_EQ(Http(protocols, "token=q"), std::nullopt);
  EXPECT_EQ(WebSocket(protocols, "token=q"), "abc");
  EXPECT_EQ(WebSocket({}, "token=q"), "q");
}

TEST(Credential, TheHeaderComesFirst) {
  EXPECT_EQ(
      WebSocket({{"authorization", "Bearer h"}, {"sec-websocket-protocol", "service-bearer, p"}},
                "token=q"),
      "h");
  EXPECT_EQ(
      WebSocket({{"authorization", "Basic h"}, {"sec-websocket-protocol", "service-bearer, p"}},
                "token=q"),
      "p");
}

TEST(Credential, AnOfferIsExactlyTwoWithTheSentinelFirst) {
  auto offered = [](const char* value) {
    return WebSocket({{"sec-websocket-protocol", value}}, "token=q");
  };
  EXPECT_EQ(offered("service-bearer,abc"), "abc");
  EXPECT_EQ(offered("other-bearer , abc"), "abc");
  for (const char* value :
       {"abc, service-bearer", "service-bearer", "service-bearer, a, b", "service-bearer,",
        "Service-Bearer, abc", "unknown-bearer, abc", "service-bearer, abc,"}) {
    EXPECT_EQ(offered(value), "q") << value;
  }
}

TEST(Credential, AnOfferMayTakeSeveralHeaderLines) {
  EXPECT_EQ(
      WebSocket({{"sec-websocket-protocol", "service-bearer"}, {"sec-websocket-protocol", "abc"}}),
      "abc");
  EXPECT_EQ(
      WebSocket({{"sec-websocket-protocol", "service-bearer, a"}, {"sec-websocket-protocol", "b"}}),
      std::nullopt);
}

TEST(Credential, TheQueryIsReadByParameter) {
  EXPECT_EQ(WebSocket({}, "a=1&token=x.y-z_&b=2"), "x.y-z_");
  EXPECT_EQ(WebSocket({}, "token=a%2Eb"), "a.b");
  EXPECT_EQ(WebSocket({}, "token=a%zz%2"), "a%zz%2");
  for (const char* query : {"", "token", "token=", "mytoken=a", "a=token=b", "Token=a"}) {
    EXPECT_EQ(WebSocket({}, query), std::nullopt) << query;
  }
}

TEST(Credential, ARequestLineIsShownWithoutTokens) {
  EXPECT_EQ(HideQueryTokens("GET /ws?token=x.y HTTP/1.1"), "GET /ws?token=*** HTTP/1.1");
  EXPECT_EQ(HideQueryTokens("GET /ws?a=1&token=x&b=2&token=y HTTP/1.1"),
            "GET /ws?a=1&token=***&b=2&token=*** HTTP/1.1");
  EXPECT_EQ(HideQueryTokens("GET /ws?token=x"), "GET /ws?token=***");
  for (const char* line : {"", "GET /ping HTTP/1.1", "GET /token=x HTTP/1.1", "GET /a&token=x",
                           "GET /ws?mytoken=x&b=token=y HTTP/1.1", "GET /ws?", "GET /ws?a&"}) {
    EXPECT_EQ(HideQueryTokens(line), line);
  }
}

}  // namespace
}  // namespace agent_graph::auth
