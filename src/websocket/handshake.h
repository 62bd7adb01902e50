// The opening handshake, as far as it needs no server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/request.h"

namespace agent_graph::websocket {

// What is wrong with a request that should open a WebSocket.
struct HandshakeFault {
  int status = 400;  // 426 for a version that is not spoken here
  std::string_view text;
};

// The elements of a list header, repeated fields joined, in order. Views into `headers`.
std::vector<std::string_view> HeaderTokens(const bridge::HeaderList& headers,
                                           std::string_view name);

// The client asks for an upgrade to a WebSocket, well or badly.
bool AsksForWebSocket(const bridge::HeaderList& headers);

// Nothing when the headers of a GET over HTTP/1.1 are a complete handshake.
std::optional<HandshakeFault> CheckHandshake(const bridge::HeaderList& headers);

// Sec-WebSocket-Accept for a valid Sec-WebSocket-Key.
std::string AcceptKey(std::string_view key);

// The first offered sub-protocol that the service speaks, or empty: a client that offered one gives
// up unless one of its own comes back.
std::string_view ChooseSubprotocol(const bridge::HeaderList& headers,
                                   const std::vector<std::string>& spoken);

}  // namespace agent_graph::websocket
