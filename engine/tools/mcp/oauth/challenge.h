// The challenge of a server that refuses a request without a valid token (RFC 6750, RFC 9728).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/http_client.h"

namespace agent_graph::tools::mcp::oauth {

struct Challenge {
  std::string error;              // e.g. "insufficient_scope"
  std::string resource_metadata;  // a URL
  std::vector<std::string> scopes;
};

// Reads the "Bearer" challenge of a WWW-Authenticate header; returns an empty one if there is none
// or it is malformed.
Challenge ReadChallenge(std::string_view header);
// Like ReadChallenge, for all WWW-Authenticate headers of a response.
Challenge ChallengeOf(const net::HttpHead& head);

// Splits at spaces; returns at most 64 scopes.
std::vector<std::string> SplitScopes(std::string_view text);
std::string JoinScopes(const std::vector<std::string>& scopes);
// Appends those of `more` that `scopes` does not contain.
void AddScopes(const std::vector<std::string>& more, std::vector<std::string>& scopes);

}  // namespace agent_graph::tools::mcp::oauth
