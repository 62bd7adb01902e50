// Where a request carries its bearer credential.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/request.h"

namespace agent_graph::auth {

// Offered as the first of two WebSocket sub-protocols, it says that the second is the credential.
inline constexpr std::string_view kBearerProtocol = "service-bearer";

// `Authorization: Bearer`, and of a WebSocket handshake then the sub-protocols and last the query
// parameter `token`. Another scheme is no credential. `bearer_protocols` are names that mean the
// same as kBearerProtocol.
std::optional<std::string> FindCredential(const bridge::RequestHead& head, bool websocket,
                                          const std::vector<std::string>& bearer_protocols = {});

// A request line as a log may show it: without the values of its query parameters `token`.
std::string HideQueryTokens(std::string_view request_line);

}  // namespace agent_graph::auth
