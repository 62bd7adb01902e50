// Checks of the headers of a request: its origin, and in the stateless era also the headers that
// repeat members of its body. Thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "api/http/context.h"
#include "facades/mcp/json_rpc.h"

namespace agent_graph::mcp {

inline constexpr char kRevisionHeader[] = "mcp-protocol-version";
inline constexpr char kSessionHeader[] = "mcp-session-id";

// Returns the refusal of a page that must not use this server: its browser may be tricked into
// sending requests to a server of its own network.
std::optional<api::ErrorInfo> CheckOrigin(const api::HandlerContext& context);
// The same for a body that is not sent as JSON, which a page could send without asking.
std::optional<api::ErrorInfo> CheckContentType(const api::HandlerContext& context);
// Returns the refusal of a request of the stateless era whose headers do not agree with its body.
std::optional<RpcError> CheckHeaders(const bridge::RequestHead& head, const RpcMessage& message,
                                     std::string_view revision);

// True if the client takes server-sent events as the response.
bool TakesEvents(const bridge::RequestHead& head);

}  // namespace agent_graph::mcp
