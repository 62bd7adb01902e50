// A request of a client while it is handled.
#pragma once

#include <string>
#include <string_view>

#include "api/http/context.h"
#include "facades/mcp/json_rpc.h"
#include "facades/mcp/peer.h"

namespace agent_graph::mcp {

struct Call {
  api::HandlerContext& context;
  const Peer& peer;
  const RpcMessage& message;  // a request

  bool stateless() const { return peer.era == Era::kStateless; }
};

// Each ends the exchange.
void SendResult(const Call& call, std::string_view result_json);
void SendError(api::HandlerContext& context, std::string_view id_json, const RpcError& error);
void SendError(const Call& call, const RpcError& error);
// The error of a request whose method and parameters are understood. The status is 200, because
// clients read no error from other statuses then; 429 and 503 stay, because a client or a proxy may
// send the request again.
void SendFailure(api::HandlerContext& context, std::string_view id_json,
                 const api::ErrorInfo& error);
void SendFailure(const Call& call, const api::ErrorInfo& error);
void SendFailure(const Call& call, const Status& status);
// 202 without a body: the answer to a notification or a response.
void SendAccepted(api::HandlerContext& context);

// Returns a result with these members, completed as the client's revision wants it. `members` is
// the inside of a JSON object.
std::string ResultOf(const Call& call, std::string_view members);
// The same for an answer that a client may cache: marked as private and as stale at once.
std::string ListingOf(const Call& call, std::string_view members);

// Returns {"name":…,"version":…}: the agent as a server.
std::string ServerInfo(const api::HandlerContext& context);

}  // namespace agent_graph::mcp
