#include "tools/mcp/oauth/metadata.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "base/text.h"
#include "net/url.h"
#include "tools/mcp/oauth/text_member.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

constexpr size_t kListMax = 64;
constexpr char kResourceDocument[] = "/.well-known/oauth-protected-resource";
constexpr char kServerDocument[] = "/.well-known/oauth-authorization-server";
constexpr char kOpenIdDocument[] = "/.well-known/openid-configuration";

std::vector<std::string> TextsAt(const json& object, const char* key) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return texts;
  for (const json& text : *found) {
    if (texts.size() == kListMax) break;
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

// Returns the path without the query and without a '/' at the end.
std::string PathOf(const net::Url& url) {
  std::string path = url.path.substr(0, url.path.find('?'));
  while (path.ends_with('/')) path.pop_back();
  return path;
}

std::string OriginOf(const net::Url& url) {
  return url.scheme + "://" + net::HostHeader(url);
}

bool IsLoopback(const net::Url& url) {
  return url.host == "localhost" || url.host == "::1" ||
         (url.host.starts_with("127.") &&
          url.host.find_first_not_of("0123456789.") == std::string::npos);
}

// True if a token for `resource` is valid for the server at `url`: the same URL, or one above it.
bool Covers(const net::Url& resource, const net::Url& url) {
  if (OriginOf(resource) != OriginOf(url)) return false;
  const std::string above = PathOf(resource);
  const std::string below = PathOf(url);
  return below.starts_with(above) && (below.size() == above.size() || below[above.size()] == '/');
}

}  // namespace

bool IsConfidential(std::string_view url) {
  const std::optional<net::Url> parts = net::ParseUrl(url);
  if (!parts || !parts->userinfo.empty()) return false;
  return parts->scheme == "https" || (parts->scheme == "http" && IsLoopback(*parts));
}

bool SameOrigin(std::string_view a, std::string_view b) {
  const std::optional<net::Url> first = net::ParseUrl(a);
  const std::optional<net::Url> second = net::ParseUrl(b);
  return first && second && first->userinfo.empty() && second->userinfo.empty() &&
         OriginOf(*first) == OriginOf(*second);
}

std::vector<std::string> ResourceDocuments(std::string_view url, std::string_view metadata_url) {
  if (!metadata_url.empty()) {
    return SameOrigin(url, metadata_url) ? std::vector<std::string>{std::string(metadata_url)}
                                         : std::vector<std::string>();
  }
  const std::optional<net::Url> parts = net::ParseUrl(url);
  if (!parts) return {};
  const std::string path = PathOf(*parts);
  std::vector<std::string> places;
  if (!path.empty()) places.push_back(OriginOf(*parts) + kResourceDocument + path);
  places.push_back(OriginOf(*parts) + kResourceDocument);
  return places;
}

std::vector<std::string> IssuerDocuments(std::string_view issuer) {
  const std::optional<net::Url> parts = net::ParseUrl(issuer);
  if (!parts) return {};
  const std::string origin = OriginOf(*parts);
  const std::string path = PathOf(*parts);
  std::vector<std::string> places = {origin + kServerDocument + path,
                                     origin + kOpenIdDocument + path};
  if (!path.empty()) places.push_back(origin + path + kOpenIdDocument);
  return places;
}

std::string OriginOf(std::string_view url) {
  const std::optional<net::Url> parts = net::ParseUrl(url);
  return parts ? OriginOf(*parts) : std::string();
}

std::string ResourceId(std::string_view url) {
  const std::optional<net::Url> parts = net::ParseUrl(url);
  if (!parts) return std::string(url);
  return OriginOf(*parts) + (parts->path == "/" ? "" : parts->path);
}

Result<Resource> ReadResource(const json& document, std::string_view url) {
  if (!document.is_object()) return Unavailable("the server's resource metadata is not valid");
  Resource resource;
  resource.id = TextAt(document, "resource");
  const std::optional<net::Url> own = net::ParseUrl(url);
  const std::optional<net::Url> named = net::ParseUrl(resource.id);
  if (!own || !named || !Covers(*named, *own)) {
    return Unavailable("the server's resource metadata is of another resource: " +
                       OneLine(resource.id, kShownBytesMax));
  }
  resource.issuers = TextsAt(document, "authorization_servers");
  resource.scopes = TextsAt(document, "scopes_supported");
  return resource;
}

Result<AuthorizationServer> ReadIssuer(const json& document, std::string_view issuer) {
  if (!document.is_object()) {
    return Unavailable("the authorization server's metadata is not valid");
  }
  AuthorizationServer server;
  server.issuer = TextAt(document, "issuer");
  if (server.issuer != issuer) {
    return Unavailable("the authorization server's metadata is of another issuer: " +
                       OneLine(server.issuer, kShownBytesMax));
  }
  server.token_endpoint = TextAt(document, "token_endpoint");
  if (!IsConfidential(server.token_endpoint) && !SameOrigin(server.token_endpoint, issuer)) {
    return Unavailable("the authorization server has no token endpoint that can be used");
  }
  server.methods = TextsAt(document, "token_endpoint_auth_methods_supported");
  server.algorithms = TextsAt(document, "token_endpoint_auth_signing_alg_values_supported");
  return server;
}

}  // namespace agent_graph::tools::mcp::oauth
