#include "run/run_events.h"

#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "message/codec.h"

namespace agent_graph::run {

RunEvent MessageEvent(std::string message_json, std::string node, int step) {
  RunEvent event;
  event.kind = RunEvent::Kind::kMessage;
  event.message_json = std::move(message_json);
  event.node = std::move(node);
  event.step = step;
  return event;
}

RunEvent DeltaEvent(const RunDelta& delta) {
  RunEvent event = MessageEvent({}, std::string(delta.node), delta.step);
  event.kind = RunEvent::Kind::kMessageDelta;
  message::AppendDeltaJson(event.message_json, delta.message_id, delta.text, delta.reasoning,
                           UnixMicros());
  return event;
}

Status RunSink::OnDelta(const RunDelta& delta) {
  return OnEvent(DeltaEvent(delta));
}

RunEvent NodeEvent(std::string state_json, std::string node, int step, int steps_max) {
  RunEvent event;
  event.kind = RunEvent::Kind::kUpdate;
  event.state_json = std::move(state_json);
  event.data_json = "{\"status\":\"node_invoked\",\"node\":";
  AppendJsonString(event.data_json, node);
  event.data_json +=
      ",\"step\":" + std::to_string(step) + ",\"max_steps\":" + std::to_string(steps_max) + "}";
  event.node = std::move(node);
  event.step = step;
  return event;
}

RunEvent ErrorEvent(const Status& error, std::string node, int step) {
  RunEvent event;
  event.kind = RunEvent::Kind::kError;
  event.error = error;
  event.node = std::move(node);
  event.step = step;
  return event;
}

}  // namespace agent_graph::run
