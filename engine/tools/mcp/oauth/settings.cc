#include "tools/mcp/oauth/settings.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/letter_case.h"
#include "net/url.h"
#include "tools/mcp/oauth/token_request.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

constexpr std::array<std::string_view, 4> kMethods = {kSecretBasic, kSecretPost, kPrivateKeyJwt,
                                                      kNoAuthentication};

// Scopes are separated by spaces and may contain only these characters (RFC 6749).
bool IsScope(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 32 && c < 127 && c != '"' && c != '\\';
  });
}

Status CheckMethod(const McpOAuth& oauth) {
  const std::string& method = oauth.authentication;
  const bool has_secret = !oauth.client_secret.empty();
  const bool has_key = !oauth.private_key.empty();
  if (has_secret && has_key) return InvalidArgument("private_key: stands beside a client_secret");
  if (method.empty()) return Status::Ok();
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    return InvalidArgument(
        "authentication: must be client_secret_basic, client_secret_post, "
        "private_key_jwt or none");
  }
  if (method == kPrivateKeyJwt && !has_key)
    return InvalidArgument("authentication: needs a private_key");
  if ((method == kSecretBasic || method == kSecretPost) && !has_secret) {
    return InvalidArgument("authentication: needs a client_secret");
  }
  return Status::Ok();
}

bool IsHttpUrl(const std::string& text) {
  const std::optional<net::Url> url = net::ParseUrl(text);
  return url && (url->scheme == "https" || url->scheme == "http") && url->userinfo.empty();
}

// Expands one value. Values that are secret by nature are treated as secrets wherever they come
// from.
class Expander {
 public:
  Expander(const Environment& environment, std::vector<std::string>& secrets)
      : environment_(environment), secrets_(secrets) {}

  std::string Text(const char* key, const std::string& value) {
    Result<std::string> text = ExpandVariables(value, environment_, &secrets_);
    if (text.ok()) return *std::move(text);
    if (status_.ok()) status_ = InvalidArgument(Named(key, text.status().message()));
    return "";
  }
  std::string Secret(const char* key, const std::string& value) {
    std::string text = Text(key, value);
    if (!text.empty()) secrets_.push_back(text);
    return text;
  }
  std::string Url(const char* key, const std::string& value) {
    std::string text = Text(key, value);
    if (status_.ok() && !text.empty() && !IsHttpUrl(text)) {
      status_ = InvalidArgument(Named(key, "must be an http or https URL"));
    }
    return text;
  }
  static std::string Named(const char* key, const std::string& problem) {
    return "oauth." + std::string(key) + ": " + problem;
  }
  const Status& status() const { return status_; }

 private:
  const Environment& environment_;
  std::vector<std::string>& secrets_;
  Status status_;
};

}  // namespace

Status CheckOAuth(const McpServer& server) {
  const McpOAuth& oauth = server.oauth;
  if (oauth.client_id.empty()) return Status::Ok();
  if (server.url.empty()) return InvalidArgument("client_id: is for servers with a url");
  for (const auto& [name, value] : server.headers) {
    if (EqualsIgnoringCase(name, "Authorization")) {
      return InvalidArgument("client_id: stands beside a header Authorization");
    }
  }
  for (const std::string& scope : oauth.scopes) {
    if (!IsScope(scope)) return InvalidArgument("scopes: \"" + scope + "\" is not a valid scope");
  }
  return CheckMethod(oauth);
}

Result<std::shared_ptr<Authorizer>> MakeAuthorizer(const McpServer& server, const std::string& url,
                                                   const Environment& environment,
                                                   std::shared_ptr<const net::HttpClient> http,
                                                   std::vector<std::string>& secrets) {
  const McpOAuth& oauth = server.oauth;
  Expander expand(environment, secrets);
  Authorizer::Options options;
  options.url = url;
  options.scopes = oauth.scopes;
  options.issuer = expand.Url("issuer", oauth.issuer);
  options.token_endpoint = expand.Url("token_endpoint", oauth.token_endpoint);
  Credentials& credentials = options.credentials;
  credentials.client_id = expand.Text("client_id", oauth.client_id);
  credentials.client_secret = expand.Secret("client_secret", oauth.client_secret);
  credentials.refresh_token = expand.Secret("refresh_token", oauth.refresh_token);
  credentials.key_id = expand.Text("key_id", oauth.key_id);
  credentials.method = oauth.authentication;
  const std::string private_key = expand.Secret("private_key", oauth.private_key);
  AG_RETURN_IF_ERROR(expand.status());
  if (credentials.client_id.empty()) return InvalidArgument("oauth.client_id: must not be empty");
  if (!private_key.empty()) {
    Result<SigningKeyPtr> key = SigningKey::FromPem(private_key);
    if (!key.ok()) return InvalidArgument(Expander::Named("private_key", key.status().message()));
    credentials.private_key = *std::move(key);
  }
  return std::make_shared<Authorizer>(std::move(options), std::move(http));
}

}  // namespace agent_graph::tools::mcp::oauth
