// Arbitrary answers of MCP servers and authorization servers before a client has a token:
// challenges and documents. Reading must be safe, and credentials must go only where they may.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent_graph/json.h"
#include "base/json.h"
#include "tools/mcp/oauth/challenge.h"
#include "tools/mcp/oauth/metadata.h"
#include "tools/mcp/oauth/token_request.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

constexpr char kServer[] = "https://tools.example.com/mcp";
constexpr char kIssuer[] = "https://login.example.com/tenant";
constexpr size_t kScopesAllowed = 64;

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadHeader(std::string_view text) {
  const Challenge challenge = ReadChallenge(text);
  Require(challenge.scopes.size() <= kScopesAllowed);
  for (const std::string& url : ResourceDocuments(kServer, challenge.resource_metadata)) {
    Require(SameOrigin(url, kServer));
  }
  Require(SplitScopes(JoinScopes(challenge.scopes)) == challenge.scopes);
}

void ReadAddresses(const std::string& url) {
  // A user name in the address goes nowhere.
  for (const std::string& document : IssuerDocuments(url)) {
    Require(oauth::OriginOf(document) == oauth::OriginOf(url));
  }
  if (SameOrigin(url, kServer)) Require(IsConfidential(url));
  ResourceId(url);
}

void ReadDocument(const json& document) {
  const Result<Resource> resource = ReadResource(document, kServer);
  if (resource.ok()) {
    for (const std::string& issuer : resource->issuers) ReadAddresses(issuer);
  }
  const Result<AuthorizationServer> server = ReadIssuer(document, kIssuer);
  if (!server.ok()) return;
  Require(IsConfidential(server->token_endpoint));
  Credentials credentials;
  credentials.client_id = "client";
  credentials.client_secret = "secret of the client";
  TokenWish wish;
  wish.resource = kServer;
  const auto request = MakeTokenRequest(*server, credentials, wish);
  if (request.ok()) Require(request->url == server->token_endpoint);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadHeader(text);
  ReadAddresses(std::string(text));
  for (const int status : {200, 400, 401, 500}) {
    const Result<TokenReply> reply = ReadTokenReply(status, text);
    if (!reply.ok()) continue;
    Require(!reply->access_token.empty() && reply->access_token.size() <= kTokenBytesMax);
    Require(reply->access_token.find_first_of("\r\n") == std::string::npos);
  }
  const Result<json> document = ParseJson(text);
  if (document.ok()) ReadDocument(*document);
  return 0;
}

}  // namespace agent_graph::tools::mcp::oauth
