#include "net/proxies.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <optional>

#include "base/letter_case.h"
#include "net/url.h"

namespace agent_graph::net {
namespace {

namespace ip = boost::asio::ip;
using boost::system::error_code;

std::optional<ip::address> Address(std::string_view text) {
  error_code error;
  const ip::address address = ip::make_address(std::string(text), error);
  return error ? std::nullopt : std::optional(address);
}

bool IsInNetwork(const ip::address& address, std::string_view network) {
  error_code error;
  if (address.is_v4()) {
    const auto range = ip::make_network_v4(std::string(network), error).canonical();
    return !error && ip::network_v4(address.to_v4(), range.prefix_length()).canonical() == range;
  }
  const auto range = ip::make_network_v6(std::string(network), error).canonical();
  return !error && ip::network_v6(address.to_v6(), range.prefix_length()).canonical() == range;
}

// "example.com" matches itself and "a.example.com"; a leading dot makes no difference.
bool Covers(std::string_view pattern, std::string_view host) {
  while (pattern.starts_with('.')) pattern.remove_prefix(1);
  if (pattern.empty() || !host.ends_with(pattern)) return false;
  return host.size() == pattern.size() || host[host.size() - pattern.size() - 1] == '.';
}

// Removes the port from `pattern` and returns it; empty: there is none.
std::string_view TakePort(std::string_view& pattern) {
  const size_t bracket = pattern.rfind(']');
  const size_t colon = pattern.rfind(':');
  const bool is_port =
      colon != std::string_view::npos &&
      (bracket != std::string_view::npos ? colon > bracket : pattern.find(':') == colon);
  std::string_view port;
  if (is_port) {
    port = pattern.substr(colon + 1);
    pattern = pattern.substr(0, colon);
  }
  if (pattern.starts_with('[') && pattern.ends_with(']')) {
    pattern = pattern.substr(1, pattern.size() - 2);
  }
  return port;
}

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> entries;
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(", \t"), list.size());
    if (end > 0) {
      entries.push_back(LowerCase(list.substr(0, end)));
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return entries;
}

// Adds the scheme and the port, because programs assume different defaults. A value that cannot be
// parsed is not changed.
std::string Complete(std::string proxy) {
  if (proxy.empty()) return proxy;
  if (proxy.find("://") == std::string::npos) proxy.insert(0, "http://");
  const std::optional<Url> url = ParseUrl(proxy);
  if (!url) return proxy;
  const std::string user = url->userinfo.empty() ? "" : url->userinfo + "@";
  return url->scheme + "://" + user + HostAndPort(*url);
}

}  // namespace

std::string FirstOf(const Environment& environment, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
  }
  return {};
}

// Reading HTTP_PROXY is safe: this environment belongs to the operator. In a CGI program a request
// could set that variable.
Proxies::Proxies(const Environment& environment)
    : http_(Complete(FirstOf(environment, {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}))),
      https_(
          Complete(FirstOf(environment, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}))),
      exceptions_(Split(FirstOf(environment, {"no_proxy", "NO_PROXY"}))) {}

std::string Proxies::For(std::string_view url) const {
  if (http_.empty() && https_.empty()) return {};
  const std::optional<Url> target = ParseUrl(url);
  if (!target || IsExcepted(target->host, target->port)) return {};
  return target->scheme == "https" || target->scheme == "wss" ? https_ : http_;
}

bool Proxies::IsExcepted(std::string_view host, std::string_view port) const {
  const std::optional<ip::address> address = Address(host);
  return std::ranges::any_of(exceptions_, [&](std::string_view pattern) {
    if (pattern == "*") return true;
    if (pattern.find('/') != std::string_view::npos) {
      return address && IsInNetwork(*address, pattern);
    }
    const std::string_view only_port = TakePort(pattern);
    if (!only_port.empty() && only_port != port) return false;
    if (!address) return Covers(pattern, host);
    return Address(pattern) == address;
  });
}

}  // namespace agent_graph::net
