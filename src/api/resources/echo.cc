// WS /echo, only in builds with AGENT_GRAPH_ECHO: returns messages to conformance suites. It needs
// no credential.
#ifdef AGENT_GRAPH_ECHO

#include "api/http/context.h"
#include "api/resources/handlers.h"
#include "base/free_memory.h"
#include "websocket/protocol.h"

namespace agent_graph::api {
void OpenEcho(HandlerContext&) {}

void EchoMessage(HandlerContext& context, bridge::SocketMessage& message) {
  std::string frame;
  websocket::AppendFrame(frame,
                         message.binary ? websocket::Opcode::kBinary : websocket::Opcode::kText,
                         message.payload);
  FreeMemory(message.payload);
  (void)context.exchange().Send(frame, bridge::kSendWaitMax);
}

}  // namespace agent_graph::api
#endif
