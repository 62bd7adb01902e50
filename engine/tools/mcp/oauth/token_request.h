// Token requests (RFC 6749) of a client that acts for itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/http_client.h"
#include "tools/mcp/oauth/metadata.h"
#include "tools/mcp/oauth/signing_key.h"

namespace agent_graph::tools::mcp::oauth {

inline constexpr size_t kTokenBytesMax = 16 * 1024;

// Methods of client authentication at a token endpoint, as named by RFC 7591.
inline constexpr char kSecretBasic[] = "client_secret_basic";
inline constexpr char kSecretPost[] = "client_secret_post";
inline constexpr char kPrivateKeyJwt[] = "private_key_jwt";
inline constexpr char kNoAuthentication[] = "none";

struct Credentials {
  std::string client_id;
  std::string client_secret;  // empty: none
  SigningKeyPtr private_key;  // null: none
  std::string key_id;
  std::string method;         // one of the above; empty: chosen by what the server supports
  std::string refresh_token;  // empty: use the grant "client_credentials"
};

struct TokenWish {
  std::string resource;
  std::vector<std::string> scopes;
  std::string refresh_token;  // empty: the grant is "client_credentials"
};

struct TokenReply {
  std::string access_token;
  std::string refresh_token;                       // a new one; empty: none
  std::optional<std::chrono::seconds> lifetime;    // nullopt: not stated
  std::optional<std::vector<std::string>> scopes;  // nullopt: as requested
};

// Returns kUnavailable if the server and the client support no common authentication method.
Result<net::HttpRequest> MakeTokenRequest(const AuthorizationServer& server,
                                          const Credentials& credentials, const TokenWish& wish);

// Reads the token endpoint's response with this HTTP status. Returns kInvalidArgument if the server
// refuses with an OAuth error, which is the detail; kUnavailable for every other failure. The text
// is the server's, not cut, and may contain secrets.
Result<TokenReply> ReadTokenReply(int status, std::string_view body);

}  // namespace agent_graph::tools::mcp::oauth
