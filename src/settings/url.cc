#include "settings/url.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "net/url.h"

namespace agent_graph::settings {
namespace {

constexpr std::array<std::string_view, 6> kProxySchemes = {"http",    "https",  "socks4",
                                                           "socks4a", "socks5", "socks5h"};

}  // namespace

bool HasBlankOrControlCharacter(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c <= ' ' || c == 0x7f; });
}

Status CheckHttpUrl(std::string_view url, UrlShape shape) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return InvalidArgument("must start with http:// or https://");
  }
  if (HasBlankOrControlCharacter(url)) {
    return InvalidArgument("must not contain blanks or control characters");
  }
  const std::optional<net::Url> parts = net::ParseUrl(url);
  if (!parts) return InvalidArgument("must have a host, and a port, if any, from 1 to 65535");
  if (shape == UrlShape::kWhole) return Status::Ok();
  if (url.find_first_of("?#") != std::string_view::npos) {
    return InvalidArgument("must end before a ? or #");
  }
  if (shape == UrlShape::kOrigin && parts->path != "/")
    return InvalidArgument("must not have a path");
  return Status::Ok();
}

Status CheckProxy(std::string_view proxy) {
  std::string_view place = proxy;
  if (const size_t scheme = proxy.find("://"); scheme != std::string_view::npos) {
    if (std::ranges::count(kProxySchemes, proxy.substr(0, scheme)) == 0) {
      return InvalidArgument(
          "must be host:port, or begin with http:// or another scheme of proxies");
    }
    place.remove_prefix(scheme + 3);
  }
  if (HasBlankOrControlCharacter(place) || !net::ParseUrl("http://" + std::string(place))) {
    return InvalidArgument("must have a host, and a port, if any, from 1 to 65535");
  }
  return Status::Ok();
}

}  // namespace agent_graph::settings
