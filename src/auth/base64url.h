// base64url without padding, as RFC 7515 uses it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::auth {

// Returns nullopt for padding, foreign characters, an impossible length, and unused bits that are
// set after the last byte. Each value thus has exactly one accepted spelling.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace agent_graph::auth
