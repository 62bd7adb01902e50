// Which proxy leads to a URL, by the variables that programs agree on: http_proxy, https_proxy,
// all_proxy and no_proxy, also in capitals. ws counts as http, wss as https.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"

namespace agent_graph::net {

inline constexpr std::array<std::string_view, 6> kProxyVariables = {
    "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

// Immutable, hence thread-safe.
class Proxies {
 public:
  explicit Proxies(const Environment& environment);

  // The proxy's address as the variable has it; empty: none, the host is reached directly.
  std::string For(std::string_view url) const;

 private:
  bool IsExcepted(std::string_view host, std::string_view port) const;

  std::string http_;
  std::string https_;
  // Of no_proxy: "*", names that cover those below them, addresses, networks ("10.0.0.0/8"); a name
  // or address may end with a port.
  std::vector<std::string> exceptions_;
};

// The first of `names` that the environment has and that is not empty.
std::string FirstOf(const Environment& environment, const std::vector<std::string_view>& names);

}  // namespace agent_graph::net
