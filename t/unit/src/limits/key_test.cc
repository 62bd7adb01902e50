#include "limits/key.h"

#include <gtest/gtest.h>

namespace agent_graph::limits {
namespace {

RateLimitOptions Trusting(uint32_t hops, std::vector<std::string> proxies = {}) {
  RateLimitOptions options;
  options.trusted_proxy_headers = true;
  options.trusted_proxy_hops = hops;
  for (const std::string& proxy : proxies) {
    options.trusted_proxies.push_back(ParseAddressRange(proxy).value());
  }
  return options;
}

TEST(Address, HasOneSpelling) {
  EXPECT_EQ(ParseAddress("192.0.2.1")->ToString(), "192.0.2.1");
  EXPECT_EQ(ParseAddress(" 192.0.2.1:8080\t")->ToString(), "192.0.2.1");
  EXPECT_EQ(ParseAddress("::ffff:192.0.2.1")->ToString(), "192.0.2.1");
  EXPECT_EQ(ParseAddress("2001:DB8:0::1")->ToString(), "2001:db8::1");
  EXPECT_EQ(ParseAddress("[2001:db8::1]:443")->ToString(), "2001:db8::1");
  EXPECT_EQ(ParseAddress("[2001:db8::1]")->ToString(), "2001:db8::1");
}

TEST(Address, RefusesWhatIsNone) {
  for (const char* text :
       {"", "unknown", "_hidden", "192.0.2", "192.0.2.256", "192.0.2.1:", ":80", "192.0.2.1:99999",
        "[2001:db8::1", "[2001:db8::1]x", "2001:db8::1/64", "192.0.2.1 , 1", "1.2.3.4:5x", "[]"}) {
    EXPECT_FALSE(ParseAddress(text)) << text;
  }
  EXPECT_FALSE(ParseAddress(std::string(1000, '1')));
}

TEST(AddressRange, ContainsItsAddresses) {
  AddressRange v4 = ParseAddressRange("10.16.0.0/12").value();
  EXPECT_TRUE(v4.Contains(*ParseAddress("10.31.255.255")));
  EXPECT_TRUE(v4.Contains(*ParseAddress("::ffff:10.16.0.0")));
  EXPECT_FALSE(v4.Contains(*ParseAddress("10.32.0.0")));
  EXPECT_FALSE(v4.Contains(*ParseAddress("2001:db8::1")));
  AddressRange v6 = ParseAddressRange("2001:db8::/33").value();
  EXPECT_TRUE(v6.Contains(*ParseAddress("2001:db8:7fff::1")));
  EXPECT_FALSE(v6.Contains(*ParseAddress("2001:db8:8000::1")));
  AddressRange one = ParseAddressRange("192.0.2.7").value();
  EXPECT_TRUE(one.Contains(*ParseAddress("192.0.2.7")));
  EXPECT_FALSE(one.Contains(*ParseAddress("192.0.2.6")));
  EXPECT_TRUE(ParseAddressRange("0.0.0.0/0")->Contains(*ParseAddress("203.0.113.9")));
  EXPECT_FALSE(ParseAddressRange("0.0.0.0/0")->Contains(*ParseAddress("2001:db8::1")));
  EXPECT_TRUE(ParseAddressRange("::/0")->Contains(*ParseAddress("2001:db8::1")));
}

TEST(AddressRange, RefusesWhatIsNone) {
  for (const char* text :
       {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.1/8", "2001:db8::/129",
        "2001:db8::1/64", "example.org", "10.0.0.0/8/8", "10.0.0.0/8 "}) {
    EXPECT_FALSE(ParseAddressRange(text)) << text;
  }
}

TEST(ClientAddress, IsThePeerUnlessAHeaderIsTrusted) {
  RateLimitOptions options;
  EXPECT_EQ(ClientAddress(options, "192.0.2.1", "203.0.113.5"), "192.0.2.1");
  EXPECT_EQ(ClientAddress(Trusting(1), "192.0.2.1", "203.0.113.5"), "203.0.113.5");
  EXPECT_EQ(ClientAddress(Trusting(1), "192.0.2.1", ""), "192.0.2.1");
  EXPECT_EQ(ClientAddress(Trusting(1), "unix:", "203.0.113.5"), "203.0.113.5");
  EXPECT_EQ(ClientAddress(options, "unix:", ""), "unix:");
}

TEST(ClientAddress, CountsHopsFromTheRight) {
  const char* chain = "198.51.100.1, 203.0.113.5,10.0.0.2";
  EXPECT_EQ(ClientAddress(Trusting(1), "192.0.2.1", chain), "10.0.0.2");
  EXPECT_EQ(ClientAddress(Trusting(2), "192.0.2.1", chain), "203.0.113.5");
  EXPECT_EQ(ClientAddress(Trusting(3), "192.0.2.1", chain), "198.51.100.1");
  EXPECT_EQ(ClientAddress(Trusting(4), "192.0.2.1", chain), "192.0.2.1") << "fewer entries";
  EXPECT_EQ(ClientAddress(Trusting(1), "192.0.2.1", "203.0.113.5,"), "192.0.2.1");
  EXPECT_EQ(ClientAddress(Trusting(1), "192.0.2.1", "203.0.113.5, nonsense"), "192.0.2.1");
}

TEST(ClientAddress, BelievesListedProxiesOnly) {
  RateLimitOptions options = Trusting(1, {"10.0.0.0/8", "2001:db8::/32"});
  EXPECT_EQ(ClientAddress(options, "10.1.2.3", "203.0.113.5"), "203.0.113.5");
  EXPECT_EQ(ClientAddress(options, "2001:db8::9", "203.0.113.5"), "203.0.113.5");
  EXPECT_EQ(ClientAddress(options, "192.0.2.1", "203.0.113.5"), "192.0.2.1");
  EXPECT_EQ(ClientAddress(options, "unix:", "203.0.113.5"), "unix:");
}

TEST(BucketKey, IsThatOfANetworkForIpv6) {
  RateLimitOptions options;
  EXPECT_EQ(BucketKey(options, "2001:db8:1:2:3:4:5:6", ""), "ip:2001:db8:1:2::");
  EXPECT_EQ(BucketKey(options, "2001:db8:1:2::7", ""), "ip:2001:db8:1:2::");
  EXPECT_NE(BucketKey(options, "2001:db8:1:3::7", ""), "ip:2001:db8:1:2::");
  EXPECT_EQ(BucketKey(options, "unix:", ""), "ip:unix:");
  EXPECT_EQ(BucketKey(options, "64:ff9b::c000:201", ""), "ip:64:ff9b::c000:201");
}

TEST(BucketKey, NamesTheCountedClient) {
  RateLimitOptions options;
  EXPECT_EQ(BucketKey(options, "192.0.2.1", "anna"), "ip:192.0.2.1");
  options.by = RateLimitOptions::By::kUser;
  EXPECT_EQ(BucketKey(options, "192.0.2.1", "anna"), "user:anna");
  EXPECT_EQ(BucketKey(options, "192.0.2.1", ""), "ip:192.0.2.1");
  options.by = RateLimitOptions::By::kGlobal;
  EXPECT_EQ(BucketKey(options, "192.0.2.1", "anna"), "__global__");
}

TEST(IsExcluded, ComparesWholePaths) {
  RateLimitOptions options;
  options.exclude_paths = {"/ping", "/v1/graph/"};
  EXPECT_TRUE(IsExcluded(options, "/ping"));
  EXPECT_TRUE(IsExcluded(options, "/ping/"));
  EXPECT_TRUE(IsExcluded(options, "/v1/graph"));
  EXPECT_TRUE(IsExcluded(options, "/v1/graph/"));
  EXPECT_FALSE(IsExcluded(options, "/pin"));
  EXPECT_FALSE(IsExcluded(options, "/ping//"));
  EXPECT_FALSE(IsExcluded(options, "/v1/graph/invoke"));
}

}  // namespace
}  // namespace agent_graph::limits
