// Metadata documents: a protected resource lists its authorization servers (RFC 9728), an
// authorization server its endpoints (RFC 8414, OpenID Connect Discovery).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::tools::mcp::oauth {

// A protected resource.
struct Resource {
  std::string id;                    // sent as `resource` in token requests
  std::vector<std::string> issuers;  // its authorization servers
  std::vector<std::string> scopes;   // supported scopes
};

struct AuthorizationServer {
  std::string issuer;  // empty: unknown, because the token endpoint was configured
  std::string token_endpoint;
  std::vector<std::string> methods;  // supported client authentication methods; empty: not stated
  // supported signature algorithms of assertions; empty: not stated
  std::vector<std::string> algorithms;
};

// True if credentials may be sent to the URL: it uses TLS, or is on this machine.
bool IsConfidential(std::string_view url);
bool SameOrigin(std::string_view a, std::string_view b);

// Returns the URLs where the metadata of the server at `url` may be, in the order to try.
// `metadata_url` is the URL in the server's challenge; empty: none. Only URLs of the server's own
// origin are returned.
std::vector<std::string> ResourceDocuments(std::string_view url, std::string_view metadata_url);
std::vector<std::string> IssuerDocuments(std::string_view issuer);
// Returns scheme, host and port of `url`.
std::string OriginOf(std::string_view url);
// Returns `url` without the parts that do not belong to a resource's identifier.
std::string ResourceId(std::string_view url);

// Returns kUnavailable if the document is invalid or describes another resource than the server at
// `url`.
Result<Resource> ReadResource(const json& document, std::string_view url);
// Returns kUnavailable if the document is invalid or describes another issuer.
Result<AuthorizationServer> ReadIssuer(const json& document, std::string_view issuer);

}  // namespace agent_graph::tools::mcp::oauth
