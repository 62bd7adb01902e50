#include "websocket/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agent_graph::websocket {
namespace {

using bridge::HeaderList;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

HeaderList GoodHandshake() {
  return {{"host", "localhost"},
          {"upgrade", "websocket"},
          {"connection", "Upgrade"},
          {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="},
          {"sec-websocket-version", "13"}};
}

HeaderList With(std::string_view name, std::optional<std::string> value) {
  HeaderList headers = GoodHandshake();
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
  if (value) headers.emplace_back(name, *value);
  return headers;
}

int StatusOf(const HeaderList& headers) {
  std::optional<HandshakeFault> fault = CheckHandshake(headers);
  return fault ? fault->status : 101;
}

TEST(AcceptKey, IsTheOneOfTheRfc) {
  EXPECT_EQ(AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(AcceptKey(" dGhlIHNhbXBsZSBub25jZQ== "), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(HeaderTokens, JoinsRepeatedFieldsAndDropsEmptyElements) {
  HeaderList headers{{"a", "x, y ,,"}, {"b", "no"}, {"a", "\tz"}};
  EXPECT_THAT(HeaderTokens(headers, "a"), ElementsAre("x", "y", "z"));
  EXPECT_THAT(HeaderTokens(headers, "c"), IsEmpty());
}

TEST(Handshake, OfAnOrdinaryClientIsComplete) {
  EXPECT_EQ(StatusOf(GoodHandshake()), 101);
}

TEST(Handshake, TakesListsAndAnyCase) {
  EXPECT_EQ(StatusOf(With("upgrade", "h2c, WebSocket")), 101);
  EXPECT_EQ(StatusOf(With("connection", "keep-alive, UPGRADE")), 101);
  HeaderList headers = With("connection", "keep-alive");
  headers.emplace_back("connection", "upgrade");
  EXPECT_EQ(StatusOf(headers), 101);
}

TEST(Handshake, RefusesWhatIsMissingOrWrong) {
  EXPECT_EQ(StatusOf(With("upgrade", std::nullopt)), 426);
  EXPECT_EQ(StatusOf(With("upgrade", "websockets")), 426);
  EXPECT_EQ(StatusOf(With("connection", std::nullopt)), 400);
  EXPECT_EQ(StatusOf(With("connection", "close")), 400);
  EXPECT_EQ(StatusOf(With("sec-websocket-version", std::nullopt)), 426);
  EXPECT_EQ(StatusOf(With("sec-websocket-version", "8")), 426);
  EXPECT_EQ(StatusOf(With("sec-websocket-version", "13, 8")), 426);
  EXPECT_EQ(StatusOf(With("sec-websocket-key", std::nullopt)), 400);
}

TEST(Handshake, RefusesKeysThatAreNot16Bytes) {
  for (const char* key : {"", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25j",
                          "dGhlIHNhbXBsZSBub25jZSE=", "dGhlIHNhbXBsZSBub25jZQ==AAAA",
                          "dGhlIHNhbXBs ZSBub25jZ==", "dGhlIHNhbXBsZSBub25jZ-=="}) {
    EXPECT_EQ(StatusOf(With("sec-websocket-key", key)), 400) << key;
  }
  HeaderList twice = GoodHandshake();
  twice.emplace_back("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
  EXPECT_EQ(StatusOf(twice), 400);
}

TEST(Subprotocol, IsTheFirstOfferedOneThatIsSpoken) {
  const std::vector<std::string> spoken{"service-bearer", "other-bearer"};
  auto choose = [&spoken](const char* offer) {
    return std::string(ChooseSubprotocol({{"sec-websocket-protocol", offer}}, spoken));
  };
  EXPECT_EQ(choose("service-bearer, token"), "service-bearer");
  EXPECT_EQ(choose("token, service-bearer"), "service-bearer");
  EXPECT_EQ(choose("other-bearer,a,b"), "other-bearer");
  EXPECT_EQ(choose("Service-Bearer"), "");
  EXPECT_EQ(choose("chat"), "");
  EXPECT_EQ(ChooseSubprotocol({}, spoken), "");
}

}  // namespace
}  // namespace agent_graph::websocket
