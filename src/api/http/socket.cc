#include "api/http/socket.h"

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "auth/credential.h"
#include "limits/shared_places.h"
#include "runtime/yield.h"
#include "websocket/handshake.h"
#include "websocket/protocol.h"

namespace agent_graph::api {
namespace {

// The state of a WebSocket between two turns.
class Session final : public bridge::SocketState {
 public:
  Session(bridge::Exchange& exchange, const ApiContext& api)
      : context(exchange, api), route(context.route()) {}

  HandlerContext context;
  const Route& route;
  std::optional<limits::SharedPlace> place = {};
};

// Takes a place of those that all hosts share; false: the handshake was refused.
bool TakePlace(Session& session, limits::SharedPlaces* places) {
  if (places == nullptr) return true;
  if (places->Take()) {
    session.place.emplace(*places);
    return true;
  }
  session.context.Fail(ErrorInfo{ApiError::kOverloaded, "too many WebSocket connections", {}});
  return false;
}

bridge::ReplyHead AcceptHead(const HandlerContext& context) {
  const bridge::HeaderList& offered = context.head().headers;
  std::vector<std::string> spoken = context.api().settings->websocket.bearer_protocols;
  spoken.emplace_back(auth::kBearerProtocol);
  bridge::HeaderList headers;
  headers.emplace_back("Upgrade", "websocket");
  headers.emplace_back("Sec-WebSocket-Accept",
                       websocket::AcceptKey(context.head().Header("sec-websocket-key")));
  std::string_view subprotocol = websocket::ChooseSubprotocol(offered, spoken);
  if (!subprotocol.empty()) headers.emplace_back("Sec-WebSocket-Protocol", subprotocol);
  return context.MakeHead(101, std::move(headers));
}

// Handles the handshake. Returns null if it was refused; the exchange has then ended.
Session* Open(bridge::Exchange& exchange, const ApiContext& api) {
  auto session = std::make_unique<Session>(exchange, api);
  if (!session->context.Admit(session->route)) return nullptr;
  if (!TakePlace(*session, api.shared_sockets)) return nullptr;
  Session* opened = session.get();
  bridge::ReplyHead head = AcceptHead(session->context);
  exchange.AcceptSocket(std::move(head), std::move(session));
  opened->route.handler(opened->context);
  return opened;
}

// Waits until the client has read before the next message is taken, because final chunks and
// refusals are sent without waiting for credit.
void AwaitReader(bridge::Exchange& exchange) {
  if (exchange.ended() || exchange.AwaitReader(bridge::kSendWaitMax).ok()) return;
  if (exchange.cancellation().cancelled()) return;
  exchange.CloseSocket(websocket::close_code::kPolicy, "the client does not read", "timeout");
}

void TakeTurn(bridge::Exchange& exchange, const ApiContext& api) {
  auto* session = static_cast<Session*>(exchange.socket().state());
  if (session == nullptr) session = Open(exchange, api);
  if (session == nullptr) return;
  while (!exchange.ended()) {
    std::optional<bridge::SocketMessage> message = exchange.socket().NextMessage();
    if (!message) return;
    session->route.on_message(session->context, *message);
    AwaitReader(exchange);
    runtime::Yield();  // a client may send messages faster than they are refused
  }
}

}  // namespace

void DispatchSocket(bridge::Exchange& exchange, const ApiContext& api) {
  try {
    TakeTurn(exchange, api);
  } catch (const std::exception& exception) {
    if (api.log != nullptr) {
      api.log->Log(bridge::LogLevel::kError, "request " + exchange.head().request_id + ": " +
                                                 exchange.head().path + ": " + exception.what());
    }
    if (exchange.is_open_socket()) {
      exchange.CloseSocket(websocket::close_code::kInternal, "internal error", "error");
    } else {
      HandlerContext(exchange, api).Fail(ErrorInfo{ApiError::kInternal, "", {}});
    }
  }
}

void SendText(bridge::Exchange& exchange, std::string_view text) {
  std::string frame;
  websocket::AppendFrame(frame, websocket::Opcode::kText, text);
  exchange.SendLast(frame);
}

}  // namespace agent_graph::api
