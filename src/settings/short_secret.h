// The length that RFC 7518 requires of secrets that sign tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::settings {

// Returns the problem of a secret that is shorter than the hash of its algorithm, which is one of
// HS256, HS384 and HS512 (RFC 7518, 3.2): "is shorter than ...". Never quotes the secret.
std::optional<std::string> ShortSecretProblem(std::string_view algorithm, std::string_view secret);

}  // namespace agent_graph::settings
