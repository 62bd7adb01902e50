// Requests for tokens (RFC 6749), by a client that is its own user.
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

// How a client authenticates to a token endpoint, by the names of RFC 7591.
inline constexpr char kSecretBasic[] = "client_secret_basic";
inline constexpr char kSecretPost[] = "client_secret_post";
inline constexpr char kPrivateKeyJwt[] = "private_key_jwt";
inline constexpr char kNoAuthentication[] = "none";

struct Credentials {
  std::string client_id;
  std::string client_secret;  // empty: none
  SigningKeyPtr private_key;  // null: none
  std::string key_id;
  std::string method;         // one of those above; empty: what the server supports
  std::string refresh_token;  // empty: the client asks for tokens of its own
};

struct TokenWish {
  std::string resource;
  std::vector<std::string> scopes;
  std::string refresh_token;  // empty: the grant is "client_credentials"
};

struct TokenReply {
  std::string access_token;
  std::string refresh_token;                       // a new one; empty: none
  std::optional<std::chrono::seconds> lifetime;    // nullopt: not said
  std::optional<std::vector<std::string>> scopes;  // nullopt: those that were asked for
};

// kUnavailable: the server supports no way for this client to authenticate.
Result<net::HttpRequest> MakeTokenRequest(const AuthorizationServer& server,
                                          const Credentials& credentials, const TokenWish& wish);

// Of a reply with this status. kInvalidArgument: the server refuses with an error of its own, which
// is the detail; kUnavailable: everything else.
Result<TokenReply> ReadTokenReply(int status, std::string_view body);

}  // namespace agent_graph::tools::mcp::oauth
