// Documents by which a protected resource names its authorization servers (RFC 9728), and such a
// server its endpoints (RFC 8414, OpenID Connect Discovery).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::tools::mcp::oauth {

// A protected resource.
struct Resource {
  std::string id;                    // what tokens are asked for
  std::vector<std::string> issuers;  // its authorization servers
  std::vector<std::string> scopes;   // that it supports
};

struct AuthorizationServer {
  std::string issuer;  // empty: unknown, the token endpoint was configured
  std::string token_endpoint;
  std::vector<std::string> methods;     // by which clients may authenticate; empty: not said
  std::vector<std::string> algorithms;  // of signed assertions; empty: not said
};

// Whether credentials may be sent there: over TLS, or to this very machine.
bool IsConfidential(std::string_view url);
bool SameOrigin(std::string_view a, std::string_view b);

// Where the document of the server at `url` may be, in the order in which it is looked for.
// `told` is what the server's challenge says; empty: nothing. Only places of the server's own
// origin.
std::vector<std::string> ResourceDocuments(std::string_view url, std::string_view told);
std::vector<std::string> IssuerDocuments(std::string_view issuer);
// Scheme, host and port of `url`.
std::string OriginOf(std::string_view url);
// `url` without what is no part of a resource's name.
std::string ResourceId(std::string_view url);

// kUnavailable: not valid, or of another resource than the server at `url`.
Result<Resource> ReadResource(const json& document, std::string_view url);
// kUnavailable: not valid, or of another issuer.
Result<AuthorizationServer> ReadIssuer(const json& document, std::string_view issuer);

}  // namespace agent_graph::tools::mcp::oauth
