// The opening handshake of RFC 6455, without a transport. Functions are pure and thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/request.h"

namespace agent_graph::websocket {

// The fault of an opening request.
struct HandshakeFault {
  int status = 400;  // 426 for an unsupported version
  std::string_view text;
};

// Returns the elements of a list header in order, including those of repeated fields. Views into
// `headers`.
std::vector<std::string_view> HeaderTokens(const bridge::HeaderList& headers,
                                           std::string_view name);

// True if the client asks for an upgrade to a WebSocket, even if the request is not valid.
bool AsksForWebSocket(const bridge::HeaderList& headers);

// Returns nullopt if the headers of a GET over HTTP/1.1 are a valid handshake.
std::optional<HandshakeFault> CheckHandshake(const bridge::HeaderList& headers);

// Returns Sec-WebSocket-Accept for a valid Sec-WebSocket-Key.
std::string AcceptKey(std::string_view key);

// Returns the first offered sub-protocol that the service supports, or empty. A client that offered
// sub-protocols fails the connection unless it gets one of them.
std::string_view ChooseSubprotocol(const bridge::HeaderList& headers,
                                   const std::vector<std::string>& supported);

}  // namespace agent_graph::websocket
