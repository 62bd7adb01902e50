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

// "host:443", "[::1]:443".
std::string HostAndPort(const Url& url);
// The same, without the scheme's default port.
std::string HostHeader(const Url& url);

}  // namespace agent_graph::net
