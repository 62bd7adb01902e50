#include "settings/media_urls.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace agent_graph::settings {
namespace {

using Patterns = std::initializer_list<const char*>;

MediaUrls Make(bool production, Patterns allow = {}, Patterns deny = {}) {
  MediaUrls urls;
  urls.private_denied = production;
  for (const char* pattern : allow) EXPECT_TRUE(urls.allowed.Add(pattern).ok()) << pattern;
  for (const char* pattern : deny) EXPECT_TRUE(urls.denied.Add(pattern).ok()) << pattern;
  return urls;
}

bool Passes(const MediaUrls& urls, const std::string& url) {
  return !urls.Fault(url).has_value();
}

bool HostPasses(const MediaUrls& urls, const std::string& host) {
  const bool passes = Passes(urls, "https://" + host + "/a.png?b=c#d");
  EXPECT_EQ(Passes(urls, "http://" + host), passes) << host;
  EXPECT_EQ(Passes(urls, "http://" + host + ":8080/"), passes) << host;
  return passes;
}

TEST(MediaUrls, OnlySchemesOfTheWebAndData) {
  for (const bool production : {false, true}) {
    const MediaUrls urls = Make(production);
    for (const char* good :
         {"http://example.com/a.png", "https://example.com", "HTTPS://EXAMPLE.COM/A",
          "https://example.com:8443/a?b=http://127.0.0.1/#@10.0.0.1", "data:image/png;base64,QUJD",
          "DATA:,x", "https://xn--bcher-kva.example/", "https://a_b.example-1.com/\xc3\xa9",
          "https://example.com./a", "https://93.184.216.34/", "https://[2606:2800:220:1::1]/a",
          "https://1.example.com/", "https://0x7f.example/"}) {
      EXPECT_TRUE(Passes(urls, good)) << good;
    }
    for (const char* bad :
         {"file:///etc/passwd", "FILE:///etc/passwd", "gopher://x/", "ftp://example.com/a",
          "gs://bucket/a", "s3://bucket/a", "javascript:alert(1)", "//example.com/a", "/v1/files/a",
          "example.com", "http:", "http:/", "http://", "https:example.com", "http:///example.com",
          " http://example.com", "jar:http://example.com!/", "http+unix://x/",
          "blob:http://x.y/"}) {
      EXPECT_FALSE(Passes(urls, bad)) << bad;
    }
  }
}

// Programs interpret these spellings differently.
TEST(MediaUrls, OnlyOneSpellingOfAHost) {
  const MediaUrls urls = Make(false);
  for (const char* bad : {"http://2130706433/",
                          "http://0x7f000001/",
                          "http://017700000001/",
                          "http://127.1/",
                          "http://127.0.1/",
                          "http://0177.0.0.1/",
                          "http://0x7f.0.0.1/",
                          "http://127.0.0.01/",
                          "http://127.0.0.1.1/",
                          "http://256.0.0.1/",
                          "http://1.2.3.4../",
                          "http://127.0.0.0x1/",
                          "http://%31%32%37.0.0.1/",
                          "http://127%2e0%2e0%2e1/",
                          "http://\xef\xbc\x91.0.0.1/",
                          "http://127\xe3\x80\x82"
                          "0.0.1/",
                          "http://a..b/",
                          "http://.a/",
                          "http://[::1/",
                          "http://::1/",
                          "http://[::1]x/",
                          "http://[fe80::1%25eth0]/",
                          "http://[v1.x]/",
                          "http://[]/",
                          "http://a@example.com/",
                          "http://a:b@example.com/",
                          "http://example.com@127.0.0.1/",
                          "http://127.0.0.1@a.com/",
                          "http://example.com\\@127.0.0.1/",
                          "http:\\\\127.0.0.1",
                          "http://exam\tple.com/",
                          "ht\ntp://127.0.0.1/",
                          "http://example.com/a b",
                          "http://example.com:port/",
                          "http://example.com:0/",
                          "http://example.com:65536/",
                          "http://example.com:80:80/",
                          "http://exa mple.com/",
                          "http://*/",
                          "http://example.com:/"}) {
    EXPECT_FALSE(Passes(urls, bad)) << bad;
  }
}

constexpr const char* kPrivateHosts[] = {
    "127.0.0.1", "127.255.0.9", "127.0.0.1.", "10.0.0.1", "172.16.0.1", "172.31.255.255",
    "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "0.0.0.0", "0.1.2.3",
    "198.18.0.1", "192.0.0.192", "224.0.0.1", "255.255.255.255", "240.0.0.1",
    // IPv6, and IPv4 embedded in it
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[fe80::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]",
    "[ff02::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:10.0.0.1]", "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]", "[2001:0:5db8:d822::80ff:fffe]", "[2606:2800::5efe:10.0.0.1]",
    // names
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "redis", "metadata", "printer.local",
    "metadata.google.internal", "wiki.intranet", "nas.lan", "nas.home.arpa",
    "localhost.localdomain"};

TEST(MediaUrls, PrivateNetworksAreClosedInProduction) {
  const MediaUrls production = Make(true);
  const MediaUrls development = Make(false);
  const MediaUrls denied = Make(false, {}, {"private"});
  const MediaUrls opened = Make(true, {"private", "*"});
  for (const char* host : kPrivateHosts) {
    EXPECT_FALSE(HostPasses(production, host)) << host;
    EXPECT_TRUE(HostPasses(development, host)) << host;
    EXPECT_FALSE(HostPasses(denied, host)) << host;
    EXPECT_TRUE(HostPasses(opened, host)) << host;
  }
  for (const char* host : {"example.com",      "localhost.example.com",
                           "notlocalhost.com", "mylocal.net",
                           "9.9.9.9",          "126.255.255.255",
                           "128.0.0.1",        "172.15.0.1",
                           "172.32.0.1",       "192.167.0.1",
                           "192.169.0.1",      "100.63.0.1",
                           "100.128.0.1",      "169.253.0.1",
                           "169.255.0.1",      "223.255.255.255",
                           "11.0.0.1",         "[2606:4700::1111]",
                           "[::ffff:9.9.9.9]", "[64:ff9b::9.9.9.9]",
                           "[2002:909:909::]", "[2001:4860:4860::8888]",
                           "[fbff::1]"}) {
    EXPECT_TRUE(HostPasses(production, host)) << host;
  }
}

TEST(MediaUrls, WhatIsAllowed) {
  const MediaUrls urls = Make(true, {"cdn.Example.com", "*.example.org", "9.9.9.0/24",
                                     "10.1.0.0/16", "fd00::/8", "2606:4700::1"});
  for (const char* host :
       {"cdn.example.com", "CDN.example.com.", "a.example.org", "a.b.example.org", "9.9.9.9",
        "10.1.2.3", "[::ffff:10.1.2.3]", "[2606:4700::1]"}) {
    EXPECT_TRUE(HostPasses(urls, host)) << host;
  }
  for (const char* host : {"example.com", "x.cdn.example.com", "example.org", "badexample.org",
                           "9.9.8.9", "10.2.0.1", "[2606:4700::2]", "example.net"}) {
    EXPECT_FALSE(HostPasses(urls, host)) << host;
  }
  EXPECT_TRUE(Passes(urls, "data:,x"));
  EXPECT_FALSE(HostPasses(Make(true, {"*"}), "127.0.0.1")) << "all is not private";
}

TEST(MediaUrls, DenyingBeatsAllowing) {
  const MediaUrls urls =
      Make(false, {"*"}, {"bad.example.com", "*.bad.example.org", "127.0.0.0/8", "fe80::/10"});
  for (const char* host : {"bad.example.com", "bad.example.com.", "x.bad.example.org", "127.0.0.9",
                           "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[fe80::1]"}) {
    EXPECT_FALSE(HostPasses(urls, host)) << host;
  }
  for (const char* host : {"example.com", "a.bad.example.com", "10.0.0.1", "localhost"}) {
    EXPECT_TRUE(HostPasses(urls, host)) << host;
  }
}

TEST(MediaUrls, RejectsBadPatterns) {
  for (const char* text :
       {"", "http://example.com", "example.com:80", "a b", "*example.com", "*.", "10.0.0.0/33",
        "10.0.0.1/8", "127.1", "0x7f000001", "a..b", "ex*ple.com", "[::1",
        "b\xc3\xbc"
        "cher.example"}) {
    HostPatterns patterns;
    EXPECT_FALSE(patterns.Add(text).ok()) << text;
    EXPECT_TRUE(patterns.empty());
  }
}

}  // namespace
}  // namespace agent_graph::settings
