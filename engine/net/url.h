// The parts of a URL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::net {

struct Url {
  std::string scheme;    // in lower case
  std::string userinfo;  // as it stands there
  std::string host;      // in lower case, an IPv6 address without brackets
  std::string port;      // the scheme's own where the URL has none
  std::string path;      // with the query; at least "/"
};

// Nothing where there is no scheme, no host, or no port that could be meant.
std::optional<Url> ParseUrl(std::string_view url);

// "host:443", "[::1]:443".
std::string HostAndPort(const Url& url);
// The same without a port that the scheme implies.
std::string HostHeader(const Url& url);

}  // namespace agent_graph::net
