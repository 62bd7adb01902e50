// Chooses the proxy for a URL from the usual environment variables: http_proxy, https_proxy,
// all_proxy and no_proxy, in lower or upper case. ws uses the proxy of http, wss that of https.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"

namespace agent_graph::net {

inline constexpr std::array<std::string_view, 6> kProxyVariables = {
    "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

// Immutable, so it is thread-safe.
class Proxies {
 public:
  explicit Proxies(const Environment& environment);

  // The proxy's address from the variable; empty: no proxy, connect directly.
  std::string For(std::string_view url) const;

 private:
  bool IsExcepted(std::string_view host, std::string_view port) const;

  std::string http_;
  std::string https_;
  // Entries of no_proxy: "*", host names (which include their subdomains), addresses and networks
  // ("10.0.0.0/8"). A name or an address may end with a port.
  std::vector<std::string> exceptions_;
};

// The value of the first of `names` that is set and not empty.
std::string FirstOf(const Environment& environment, const std::vector<std::string_view>& names);

}  // namespace agent_graph::net
