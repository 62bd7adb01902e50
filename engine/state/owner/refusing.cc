#include "state/owner/refusing.h"

namespace agent_graph::state {

bool RefusingEvents::OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) {
  pack::Unpacker unpacker(payload);
  switch (wire::ReadFrameType(unpacker)) {
    case wire::FrameType::kHello:
      connection->Send(
          wire::MakeFrame(wire::FrameType::kWelcome, wire::Welcome{wire::kProtocolMax, 0}));
      return true;
    case wire::FrameType::kRequest: {
      const wire::RequestHeader header = wire::ReadRequestHeader(unpacker);
      connection->Send(wire::MakeReply(
          header.sequence, Status(StatusCode::kUnavailable, "the state database is not available"),
          {}));
      return unpacker.ok();
    }
    case wire::FrameType::kYield: {
      wire::Yield yield;
      if (!wire::ReadBody(unpacker, yield)) return false;
      on_yield_(yield.generation);
      return true;
    }
    default:
      return unpacker.ok();
  }
}

}  // namespace agent_graph::state
