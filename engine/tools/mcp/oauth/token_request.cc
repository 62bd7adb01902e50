#include "tools/mcp/oauth/token_request.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "base/percent_encoding.h"
#include "base/text.h"
#include "tools/mcp/oauth/challenge.h"
#include "tools/mcp/oauth/text_member.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

constexpr char kAssertionType[] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
constexpr int64_t kAssertionSeconds = 60;
constexpr int64_t kLifetimeMax = 365 * 24 * 3600;

void AddField(std::string& form, std::string_view name, std::string_view value) {
  form += form.empty() ? "" : "&";
  form += name;
  form += '=';
  form += PercentEncode(value);
}

bool Has(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Returns the configured method, otherwise the first of ours that the server supports. A server
// that lists none supports client_secret_basic (RFC 8414).
std::string ChooseMethod(const AuthorizationServer& server, const Credentials& credentials) {
  if (!credentials.method.empty()) return credentials.method;
  if (credentials.private_key != nullptr) return kPrivateKeyJwt;
  if (credentials.client_secret.empty()) return kNoAuthentication;
  if (server.methods.empty() || Has(server.methods, kSecretBasic)) return kSecretBasic;
  return Has(server.methods, kSecretPost) ? kSecretPost : "";
}

Result<std::string> MakeAssertion(const AuthorizationServer& server,
                                  const Credentials& credentials) {
  const std::string algorithm = credentials.private_key->AlgorithmFor(server.algorithms);
  if (algorithm.empty()) {
    return Unavailable("the authorization server accepts no algorithm of the private key");
  }
  const int64_t now = UnixMicros() / kMicrosPerSecond;
  const json claims = {{"iss", credentials.client_id},
                       {"sub", credentials.client_id},
                       {"aud", server.issuer.empty() ? server.token_endpoint : server.issuer},
                       {"jti", NewUuid()},
                       {"iat", now},
                       {"exp", now + kAssertionSeconds}};
  std::string token = credentials.private_key->SignedToken(algorithm, credentials.key_id, claims);
  if (token.empty()) return Unavailable("the private key cannot sign");
  return token;
}

// Visible ASCII only, because the token is sent in a header.
bool IsTokenText(std::string_view text) {
  return !text.empty() && text.size() <= kTokenBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 32 && c < 127; });
}

// Some servers send the number as a string.
std::optional<std::chrono::seconds> LifetimeOf(const json& reply) {
  json value = reply.value("expires_in", json());
  if (value.is_string()) {
    Result<json> parsed = ParseJson(value.get_ref<const std::string&>());
    value = parsed.ok() ? *std::move(parsed) : json();
  }
  if (!value.is_number()) return std::nullopt;
  const double seconds = value.get<double>();
  return std::chrono::seconds(
      static_cast<int64_t>(std::clamp(seconds, 0.0, static_cast<double>(kLifetimeMax))));
}

Status RefusalOf(int status, const json& reply) {
  const std::string error =
      reply.is_object() ? OneLine(TextAt(reply, "error"), std::string::npos) : "";
  if (error.empty()) {
    return Unavailable("the token endpoint answered HTTP " + std::to_string(status));
  }
  std::string text = "the token endpoint refused: " + error;
  const std::string more = OneLine(TextAt(reply, "error_description"), std::string::npos);
  if (!more.empty()) text += " (" + more + ")";
  Status refusal(StatusCode::kInvalidArgument, std::move(text));
  refusal.WithDetail(error);
  return refusal;
}

}  // namespace

Result<net::HttpRequest> MakeTokenRequest(const AuthorizationServer& server,
                                          const Credentials& credentials, const TokenWish& wish) {
  net::HttpRequest request;
  request.url = server.token_endpoint;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                     {"Accept", "application/json"}};
  std::string& form = request.body;
  AddField(form, "grant_type", wish.refresh_token.empty() ? "client_credentials" : "refresh_token");
  if (!wish.refresh_token.empty()) AddField(form, "refresh_token", wish.refresh_token);
  if (!wish.scopes.empty()) AddField(form, "scope", JoinScopes(wish.scopes));
  if (!wish.resource.empty()) AddField(form, "resource", wish.resource);
  const std::string method = ChooseMethod(server, credentials);
  if (method == kSecretBasic) {
    const std::string pair =
        PercentEncode(credentials.client_id) + ":" + PercentEncode(credentials.client_secret);
    request.headers.emplace_back("Authorization", "Basic " + EncodeBase64(pair));
    return request;
  }
  AddField(form, "client_id", credentials.client_id);
  if (method == kSecretPost) {
    AddField(form, "client_secret", credentials.client_secret);
  } else if (method == kPrivateKeyJwt) {
    AG_ASSIGN_OR_RETURN(const std::string assertion, MakeAssertion(server, credentials));
    AddField(form, "client_assertion_type", kAssertionType);
    AddField(form, "client_assertion", assertion);
  } else if (method != kNoAuthentication) {
    return Unavailable("the authorization server supports no way to authenticate that is known");
  }
  return request;
}

Result<TokenReply> ReadTokenReply(int status, std::string_view body) {
  const Result<json> parsed = ParseJson(body);
  if (status != 200) return RefusalOf(status, parsed.ok() ? *parsed : json());
  if (!parsed.ok() || !parsed->is_object()) {
    return Unavailable("the token endpoint's reply is not valid");
  }
  TokenReply reply;
  reply.access_token = TextAt(*parsed, "access_token");
  if (!EqualsIgnoringCase(TextAt(*parsed, "token_type"), "Bearer") ||
      !IsTokenText(reply.access_token)) {
    return Unavailable("the token endpoint's reply has no bearer token");
  }
  reply.lifetime = LifetimeOf(*parsed);
  const std::string refresh_token = TextAt(*parsed, "refresh_token");
  if (IsTokenText(refresh_token)) reply.refresh_token = refresh_token;
  if (parsed->contains("scope")) reply.scopes = SplitScopes(TextAt(*parsed, "scope"));
  return reply;
}

}  // namespace agent_graph::tools::mcp::oauth
