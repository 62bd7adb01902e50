// WS /v1/graph/live: on a graph that is not rooted at a live agent it says so and closes.
#include "api/handlers.h"
#include "api/socket.h"
#include "websocket/protocol.h"

namespace agent_graph::api {
namespace {

// Fatal and before the close, or clients would connect again and again.
constexpr std::string_view kNotLive =
    R"({"type":"error","code":"not_live","message":"this graph is not live, use /v1/graph/ws",)"
    R"("fatal":true})";

}  // namespace

void OpenLiveSocket(HandlerContext& context) {
  SendText(context.exchange(), kNotLive);
  context.exchange().CloseSocket(websocket::close_code::kPolicy, "not_live", "rejected");
}

}  // namespace agent_graph::api
