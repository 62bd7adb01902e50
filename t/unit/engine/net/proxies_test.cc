#include "net/proxies.h"

#include <gtest/gtest.h>

namespace agent_graph::net {
namespace {

TEST(ProxiesTest, EachSchemeHasItsOwn) {
  const Proxies proxies({{"http_proxy", "http://plain:1"}, {"HTTPS_PROXY", "http://secure:2"}});
  EXPECT_EQ(proxies.For("http://a.example/x"), "http://plain:1");
  EXPECT_EQ(proxies.For("WS://a.example/x"), "http://plain:1");
  EXPECT_EQ(proxies.For("https://a.example"), "http://secure:2");
  EXPECT_EQ(proxies.For("wss://a.example?q"), "http://secure:2");
  EXPECT_EQ(proxies.For("nonsense"), "");
}

TEST(ProxiesTest, WhichVariableWins) {
  EXPECT_EQ(Proxies(Environment{{"ALL_PROXY", "http://all:1"}}).For("http://a/"), "http://all:1");
  EXPECT_EQ(Proxies(Environment{{"ALL_PROXY", "http://all:1"}}).For("wss://a/"), "http://all:1");
  const Proxies both({{"HTTP_PROXY", "http://upper:1"}, {"http_proxy", "http://lower:2"}});
  EXPECT_EQ(both.For("http://a/"), "http://lower:2");
  EXPECT_EQ(both.For("https://a/"), "");
  const Proxies empty({{"http_proxy", ""}, {"all_proxy", "http://all:1"}});
  EXPECT_EQ(empty.For("http://a/"), "http://all:1");
  EXPECT_EQ(Proxies(Environment{}).For("http://a/"), "");
}

TEST(ProxiesTest, AddressesAreComplete) {
  EXPECT_EQ(Proxies(Environment{{"all_proxy", "proxy"}}).For("http://a/"), "http://proxy:80");
  EXPECT_EQ(Proxies(Environment{{"all_proxy", "me:pw@proxy:3128"}}).For("http://a/"),
            "http://me:pw@proxy:3128");
  EXPECT_EQ(Proxies(Environment{{"all_proxy", "http://[::1]:3128/"}}).For("http://a/"),
            "http://[::1]:3128");
  EXPECT_EQ(Proxies(Environment{{"all_proxy", "socks5h://proxy"}}).For("http://a/"),
            "socks5h://proxy");
}

class ExceptionsTest : public testing::Test {
 protected:
  static bool Direct(const std::string& no_proxy, const std::string& url) {
    return Proxies(Environment{{"all_proxy", "http://proxy:1"}, {"NO_PROXY", no_proxy}})
        .For(url)
        .empty();
  }
};

TEST_F(ExceptionsTest, Names) {
  EXPECT_TRUE(Direct("*", "https://a.example"));
  EXPECT_TRUE(Direct("example.com", "https://example.com/"));
  EXPECT_TRUE(Direct("example.com", "https://API.Example.COM:8443/"));
  EXPECT_TRUE(Direct("one, .Example.com", "https://api.example.com/"));
  EXPECT_TRUE(Direct("one two\texample.com", "wss://example.com/"));
  EXPECT_FALSE(Direct("example.com", "https://notexample.com/"));
  EXPECT_FALSE(Direct("example.com", "https://example.com.evil/"));
  EXPECT_FALSE(Direct("api.example.com", "https://example.com/"));
  EXPECT_FALSE(Direct(" , .,", "https://example.com/"));
}

TEST_F(ExceptionsTest, Ports) {
  EXPECT_TRUE(Direct("example.com:8443", "https://example.com:8443/"));
  EXPECT_TRUE(Direct("example.com:443", "wss://example.com/"));
  EXPECT_FALSE(Direct("example.com:8443", "https://example.com/"));
}

TEST_F(ExceptionsTest, Addresses) {
  EXPECT_TRUE(Direct("127.0.0.1", "http://127.0.0.1:8000/"));
  EXPECT_FALSE(Direct("27.0.0.1", "http://127.0.0.27/"));
  EXPECT_FALSE(Direct("0.0.1", "http://127.0.0.1/"));
  EXPECT_TRUE(Direct("10.0.0.0/8", "http://10.1.2.3/"));
  EXPECT_FALSE(Direct("10.0.0.0/8", "http://11.1.2.3/"));
  EXPECT_FALSE(Direct("10.0.0.0/8", "http://ten.example/"));
  EXPECT_TRUE(Direct("::1", "http://[::1]:8000/"));
  EXPECT_TRUE(Direct("[::1]:8000", "http://[::1]:8000/"));
  EXPECT_TRUE(Direct("fd00::/8", "http://[fd12::1]/"));
  EXPECT_FALSE(Direct("10.0.0.0/99,fd00::/x,/", "http://10.1.2.3/"));
}

}  // namespace
}  // namespace agent_graph::net
