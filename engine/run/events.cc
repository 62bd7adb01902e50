#include "run/events.h"

#include <utility>

#include "base/json.h"

namespace agent_graph::run {

RunEvent MessageEvent(std::string message_json, std::string node, int step) {
  RunEvent event;
  event.kind = RunEvent::Kind::kMessage;
  event.message_json = std::move(message_json);
  event.node = std::move(node);
  event.step = step;
  return event;
}

RunEvent DeltaEvent(std::string delta_json, std::string node, int step) {
  RunEvent event = MessageEvent(std::move(delta_json), std::move(node), step);
  event.kind = RunEvent::Kind::kMessageDelta;
  return event;
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
  event.data_json = ErrorJson(error, node, step);
  event.node = std::move(node);
  event.step = step;
  return event;
}

std::string ErrorJson(const Status& error, std::string_view node, int64_t step) {
  std::string out = "{\"status\":\"error\",\"code\":";
  AppendJsonString(out, StatusCodeName(error.code()));
  out += ",\"reason\":";
  AppendJsonString(out, error.message());
  out += ",\"node\":";
  AppendJsonString(out, node);
  out += ",\"step\":" + std::to_string(step) + "}";
  return out;
}

}  // namespace agent_graph::run
