// What a server says when it refuses a request for want of a token (RFC 6750, RFC 9728).
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

// Of the "Bearer" challenge among those of a WWW-Authenticate header; an empty one when there is
// none, or it cannot be read.
Challenge ReadChallenge(std::string_view header);
// The same of all WWW-Authenticate headers of a reply.
Challenge ChallengeOf(const net::HttpHead& head);

// Words between blanks, at most 64 of them.
std::vector<std::string> SplitScopes(std::string_view text);
std::string JoinScopes(const std::vector<std::string>& scopes);
// Adds those of `more` that are not there yet.
void AddScopes(const std::vector<std::string>& more, std::vector<std::string>& scopes);

}  // namespace agent_graph::tools::mcp::oauth
