#include "state/gateway/refusing.h"

namespace agent_graph::state {

bool RefusingEvents::OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) {
  pack::Unpacker unpacker(payload);
  switch (wire::ReadFrameType(unpacker)) {
    case wire::FrameType::kHello:
      connection->Send(Welcome{0});
      return true;
    case wire::FrameType::kRequest: {
      const RequestHeader header = wire::ReadRequestHeader(unpacker);
      connection->Send(
          Reply{header.sequence,
                Status(StatusCode::kUnavailable, "the state database is not available"),
                {}});
      return unpacker.ok();
    }
    case wire::FrameType::kStepDown: {
      wire::StepDown step_down;
      if (!pack::TryUnpack(unpacker, step_down)) return false;
      on_step_down_(step_down.generation);
      return true;
    }
    default:
      return unpacker.ok();
  }
}

}  // namespace agent_graph::state
