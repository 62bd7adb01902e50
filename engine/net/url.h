// Splits a URL into its parts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::net {

struct Url {
  std::string scheme;    // in lower case
  std::string userinfo;  // not decoded
  std::string host;      // in lower case; an IPv6 address without brackets
  std::string port;      // the scheme's default if the URL has none
  std::string path;      // with the query, not decoded; at least "/"
};

// nullopt if the URL has no scheme, no host or an invalid port.
std::optional<Url> ParseUrl(std::string_view url);

// True if the URL can be used as it is written: it has no user, its host is an ASCII name or an
// address, and its path has neither dot segments, which a client should remove, nor characters that
// it should encode. libcurl knows what to do with all others.
bool IsPlain(const Url& url);

// "host:443", "[::1]:443".
std::string HostAndPort(const Url& url);
// The same, without the scheme's default port.
std::string HostHeader(const Url& url);

}  // namespace agent_graph::net
