// Finds the bearer credential of a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/request.h"

namespace agent_graph::auth {

// A WebSocket client offers two sub-protocols: this one first, and the credential as the second.
inline constexpr std::string_view kBearerProtocol = "service-bearer";

// Returns the credential from `Authorization: Bearer`. For a WebSocket handshake it then tries the
// sub-protocols and last the query parameter `token`. Other authorization schemes are ignored.
// `bearer_protocols` are names that are accepted like kBearerProtocol.
std::optional<std::string> FindCredential(const bridge::RequestHead& head, bool websocket,
                                          const std::vector<std::string>& bearer_protocols = {});

// Returns a request line for logs, with the values of its query parameters `token` replaced.
std::string HideQueryTokens(std::string_view request_line);

}  // namespace agent_graph::auth
