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

struct Authority {
  std::string_view host;
  std::string_view port;
};

// Splits "host:port" or "[address]:port".
Authority AuthorityOf(std::string_view text, std::string_view default_port) {
  const size_t bracket = text.find(']');  // the end of an IPv6 address
  const size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  if (colon == text.npos) return {text, default_port};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// True if the page comes from the address of the request. Without TLS here a proxy may have ended
// it, so both schemes are possible.
bool IsOwnOrigin(const bridge::RequestHead& head, std::string_view origin) {
  const bool secure = origin.starts_with("https://");
  if (!secure && (head.https || !origin.starts_with("http://"))) return false;
  const std::string_view default_port = secure ? "443" : "80";
  const Authority page = AuthorityOf(origin.substr(origin.find("://") + 3), default_port);
  const Authority own = AuthorityOf(head.Header("host"), default_port);
  return !own.host.empty() && EqualsIgnoringCase(page.host, own.host) && page.port == own.port;
}

// Browsers send passwords, cookies and certificates by themselves, also for pages of other sites.
// Such a page must be listed by name: "*" is for credentials that a page must know.
bool IsFromForeignPage(const IncomingRequest& request, const settings::CorsSettings& cors) {
  const std::string_view origin = request.head.Header("origin");
  if (origin.empty() || ChangesNothing(request) || IsOwnOrigin(request.head, origin)) return false;
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
