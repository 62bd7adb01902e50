// Errors of the service as errors of JSON-RPC. Thread-safe; the nginx thread calls RenderError,
// too.
#pragma once

#include <string>
#include <string_view>

#include "api/http/envelope.h"
#include "api/http/errors.h"
#include "facades/mcp/json_rpc.h"

namespace agent_graph::mcp {

// Returns {"jsonrpc":"2.0","id":null,"error":{"code":…,"message":…,"data":{"code":…}}} with the
// status of the error: 401 for credentials, 400 for what is not a message.
api::Reply RenderError(const api::ErrorInfo& error, std::string_view request_id);

// Returns the error for the response to a request.
RpcError RpcErrorOf(const api::ErrorInfo& error);

// Returns the text of an error, with the path of the first field that is wrong.
std::string TextOf(const api::ErrorInfo& error);

}  // namespace agent_graph::mcp
