// The engine side of WebSocket routes.
#pragma once

#include <string_view>

#include "api/http/context.h"

namespace agent_graph::api {

// Handles one turn of a WebSocket: the handshake, or the messages in the mailbox. Runs on a fiber
// of the inbox.
void DispatchSocket(bridge::Exchange& exchange, const ApiContext& api);

// Sends a text message without waiting for credit. Only for messages that end a run or the socket.
void SendText(bridge::Exchange& exchange, std::string_view text);

}  // namespace agent_graph::api
