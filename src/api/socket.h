// WebSocket routes on the engine's side.
#pragma once

#include <string_view>

#include "api/context.h"

namespace agent_graph::api {

// One turn of a WebSocket: the handshake, or the messages that wait.
void DispatchSocket(bridge::Exchange& exchange, const ApiContext& api);

// A text message, without waiting for room: for what ends a run or the socket.
void SendText(bridge::Exchange& exchange, std::string_view text);

}  // namespace agent_graph::api
