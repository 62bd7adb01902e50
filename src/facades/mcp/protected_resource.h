// The endpoint as a protected resource of OAuth 2.0 (RFC 9728), for "auth": "jwt": clients learn
// where to get tokens.
#pragma once

#include <optional>

#include "api/http/context.h"

namespace agent_graph::mcp {

// Adds the address of the metadata to the challenge of a refused request. See
// api::Route::complete_headers.
void CompleteChallenge(const api::HandlerContext& context, int status, bridge::HeaderList& headers);

// 404 for the metadata of a service that takes no tokens.
std::optional<api::ErrorInfo> ClosedWithoutTokens(const settings::Settings& settings);

}  // namespace agent_graph::mcp
