// NginxAuthenticator: the user comes from agent_graph_user and agent_graph_user_claims.
#include <algorithm>

#include "agent_graph/json.h"
#include "auth/authenticator.h"
#include "auth/jwt.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "base/utf8.h"

namespace agent_graph::auth {
namespace {

// Duplicate names are refused, as in tokens, because parsers differ in which of the two they use.
constexpr JsonLimits kClaimLimits = {.depth_max = 32, .values_max = 4096, .unique_keys = true};

bool ChangesNothing(const IncomingRequest& request) {
  return !request.websocket && (request.head.method == "GET" || request.head.method == "HEAD");
}

// The host of "https://host:port" or of a Host header.
std::string_view HostOf(std::string_view text) {
  if (const size_t scheme = text.find("://"); scheme != text.npos) text.remove_prefix(scheme + 3);
  const size_t bracket = text.find(']');  // the end of an IPv6 address
  return text.substr(0, text.find(':', bracket == text.npos ? 0 : bracket));
}

// Browsers send passwords, cookies and certificates by themselves, also for pages of other sites.
// Such a page must be listed by name: "*" is for credentials that a page must know.
bool IsFromForeignPage(const IncomingRequest& request, const settings::CorsSettings& cors) {
  const std::string_view origin = request.head.Header("origin");
  if (origin.empty() || ChangesNothing(request)) return false;
  const std::string_view host = HostOf(request.head.Header("host"));
  if (!host.empty() && EqualsIgnoringCase(HostOf(origin), host)) return false;
  return std::ranges::find(cors.origins, origin) == cors.origins.end();
}

Refusal Invalid(std::string message) {
  return {Refusal::Kind::kInvalidToken, std::move(message)};
}

}  // namespace

std::optional<Refusal> NginxAuthenticator::Authenticate(const IncomingRequest& request, json& user,
                                                        bridge::HeaderList&) {
  const bridge::RequestHead& head = request.head;
  if (IsFromForeignPage(request, cors_)) {
    return Refusal{Refusal::Kind::kForbidden, "the origin is not allowed"};
  }
  if (head.user.empty()) {
    return Refusal{Refusal::Kind::kNoCredential, "unauthorized: nginx names no user"};
  }
  json claims = json::object();
  if (head.user_claims) {
    // Empty claims are refused: a caller without the claim `scopes` is not restricted, so it could
    // do more than one with few scopes.
    if (head.user_claims->size() > kTokenBytesMax) return Invalid("unauthorized: claims too large");
    Result<json> parsed = ParseJson(*head.user_claims, kClaimLimits);
    if (!parsed.ok() || !parsed->is_object()) {
      return Invalid("unauthorized: the claims from nginx are not a JSON object");
    }
    claims = *std::move(parsed);
  }
  if (!IsUtf8(head.user)) return Invalid("unauthorized: the user is not UTF-8");
  claims["user_id"] = head.user;
  if (UserIdOf(claims).empty()) {
    return Invalid("unauthorized: the user is blank or longer than 1024 bytes");
  }
  user = std::move(claims);
  return std::nullopt;
}

}  // namespace agent_graph::auth
