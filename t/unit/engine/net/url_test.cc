#include "net/url.h"

#include <gtest/gtest.h>

namespace agent_graph::net {
namespace {

TEST(UrlTest, Parts) {
  const auto url = ParseUrl("WSS://me:p%40@Host.Example:8443/a/b?c=d#e");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "wss");
  EXPECT_EQ(url->userinfo, "me:p%40");
  EXPECT_EQ(url->host, "host.example");
  EXPECT_EQ(url->port, "8443");
  EXPECT_EQ(url->path, "/a/b?c=d");
}

TEST(UrlTest, WhatIsLeftOut) {
  EXPECT_EQ(ParseUrl("ws://h")->port, "80");
  EXPECT_EQ(ParseUrl("https://h")->port, "443");
  EXPECT_EQ(ParseUrl("ws://h")->path, "/");
  EXPECT_EQ(ParseUrl("ws://h?x=1")->path, "/?x=1");
  EXPECT_EQ(HostHeader(*ParseUrl("wss://h:443/")), "h");
  EXPECT_EQ(HostHeader(*ParseUrl("ws://h:443/")), "h:443");
}

TEST(UrlTest, Addresses) {
  EXPECT_EQ(ParseUrl("ws://[::1]/")->host, "::1");
  EXPECT_EQ(ParseUrl("ws://[::1]:81/")->port, "81");
  EXPECT_EQ(HostAndPort(*ParseUrl("ws://[::1]/")), "[::1]:80");
  EXPECT_EQ(HostHeader(*ParseUrl("ws://[::1]/")), "[::1]");
}

TEST(UrlTest, NoUrls) {
  for (const char* text : {"", "h", "://h", "ws://", "ws://:80", "ws://h:", "ws://h:0", "ws://h:x",
                           "ws://h:70000", "other://h"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
  }
}

}  // namespace
}  // namespace agent_graph::net
