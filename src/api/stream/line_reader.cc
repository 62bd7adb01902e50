#include "api/stream/line_reader.h"

#include <string>

#include "api/stream/error_data.h"
#include "base/clock.h"
#include "base/json.h"
#include "run/run_events.h"

namespace agent_graph::api {
namespace {

double SecondsOf(const EventPlace& place) {
  return static_cast<double>(place.micros) / kMicrosPerSecond;
}

}  // namespace

Status LineReader::OnStart(const run::RunStart& start, const state::RunRecord*) {
  writer_.emplace(start);
  return Status::Ok();
}

Status LineReader::OnDelta(const run::RunDelta& delta, const EventPlace& place, bool is_first) {
  std::string line;
  writer_->AppendLine(line, delta, place.micros,
                      delta_cursors_ || is_first ? place.cursor : std::string_view());
  return Send({"message", place.cursor, line});
}

Status LineReader::OnMessage(const MessageEvent& message, const EventPlace& place) {
  const run::RunEvent event =
      run::MessageEvent(message.json, std::string(message.node), message.step);
  return Send({"message", place.cursor, writer_->Line(event, SecondsOf(place), place.cursor)});
}

// The log has no state per node, so the line has none.
Status LineReader::OnNodeFinished(std::string_view node, int step, const EventPlace& place) {
  if (granularity_ == Granularity::kLow) return Status::Ok();
  run::RunEvent event;
  event.kind = run::RunEvent::Kind::kUpdate;
  event.node = node;
  event.step = step;
  event.data_json = "{\"status\":\"node_invoked\",\"node\":";
  AppendJsonString(event.data_json, node);
  event.data_json += ",\"step\":" + std::to_string(step) + '}';
  return Send({"updates", place.cursor, writer_->Line(event, SecondsOf(place), place.cursor)});
}

Status LineReader::OnReset(std::string_view message_id, uint32_t attempt) {
  run::RunEvent event;
  event.kind = run::RunEvent::Kind::kUpdate;
  event.step = -1;
  event.data_json = "{\"status\":\"retrying\",\"reset\":";
  if (message_id.empty()) {
    event.data_json += "null";
  } else {
    AppendJsonString(event.data_json, message_id);
  }
  event.data_json += ",\"attempt\":" + std::to_string(attempt) + '}';
  // Without a cursor, because the known one belongs to the previous attempt.
  return Send({"updates", "", writer_->Line(event, UnixSeconds())});
}

Status LineReader::OnError(const RunError& error, const EventPlace& place) {
  run::RunEvent event = run::ErrorEvent(error.status, std::string(error.node), error.step);
  event.data_json = ErrorData(event);
  return Send({"error", place.cursor, writer_->Line(event, SecondsOf(place), place.cursor)});
}

Status LineReader::OnEnd(const RunEnd& end, const EventPlace& place) {
  const StreamEnd shown{.outcome = end.outcome,
                        .interrupt_json = end.interrupt_json,
                        .state_json = end.state_json,
                        .thread_name = end.thread_name,
                        .reason = end.reason};
  return Send({"updates", place.cursor, writer_->DoneLine(shown, SecondsOf(place))});
}

}  // namespace agent_graph::api
