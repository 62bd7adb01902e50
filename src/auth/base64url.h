// base64url without padding, as RFC 7515 uses it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::auth {

// Nothing for padding, foreign characters, an impossible length, or bits set behind the last byte:
// each value has exactly one spelling.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace agent_graph::auth
