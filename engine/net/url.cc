#include "net/url.h"

#include <algorithm>
#include <charconv>

#include "base/letter_case.h"

namespace agent_graph::net {
namespace {

std::string UsualPort(std::string_view scheme) {
  if (scheme == "https" || scheme == "wss") return "443";
  return scheme == "http" || scheme == "ws" ? "80" : "";
}

bool IsPort(std::string_view text) {
  unsigned int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port < 65536;
}

}  // namespace

std::optional<Url> ParseUrl(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == 0 || scheme == std::string_view::npos) return std::nullopt;
  Url parts;
  parts.scheme = LowerCase(url.substr(0, scheme));
  url.remove_prefix(scheme + 3);
  const size_t end = std::min(url.find_first_of("/?#"), url.size());
  std::string_view authority = url.substr(0, end);
  parts.path = url.substr(end, url.find('#') - end);
  if (!parts.path.starts_with('/')) parts.path.insert(parts.path.begin(), '/');
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parts.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  const size_t bracket = authority.rfind(']');  // the end of an IPv6 address
  const size_t colon = authority.rfind(':');
  parts.port = UsualPort(parts.scheme);
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    parts.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']')) {
    authority = authority.substr(1, authority.size() - 2);
  }
  parts.host = LowerCase(authority);
  if (parts.host.empty() || !IsPort(parts.port)) return std::nullopt;
  return parts;
}

bool IsPlain(const Url& url) {
  const auto is_host_of = [&url](const char* characters) {
    return url.host.find_first_not_of(characters) == std::string::npos;
  };
  const bool is_plain_host = is_host_of("abcdefghijklmnopqrstuvwxyz0123456789.-_") ||
                             is_host_of("abcdef0123456789:.");  // an IPv6 address
  return is_plain_host && url.userinfo.empty() && url.path.find("/.") == std::string::npos &&
         std::all_of(url.path.begin(), url.path.end(), [](char c) { return c > ' ' && c < 127; });
}

std::string HostAndPort(const Url& url) {
  std::string text = url.host;
  if (text.find(':') != std::string::npos) {
    text.insert(text.begin(), '[');
    text.push_back(']');
  }
  text.push_back(':');
  return text += url.port;
}

std::string HostHeader(const Url& url) {
  std::string text = HostAndPort(url);
  if (url.port == UsualPort(url.scheme)) text.resize(text.size() - url.port.size() - 1);
  return text;
}

}  // namespace agent_graph::net
