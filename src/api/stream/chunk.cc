#include "api/stream/chunk.h"

#include <charconv>

#include "base/json.h"
#include "base/seconds.h"
#include "message/codec.h"

namespace agent_graph::api {
namespace {

constexpr size_t kChunkBytes = 160;  // approximate size of a line without its parts

std::string_view EventName(run::RunEvent::Kind kind) {
  switch (kind) {
    case run::RunEvent::Kind::kMessageDelta:
    case run::RunEvent::Kind::kMessage:
      return "message";
    case run::RunEvent::Kind::kUpdate:
      return "updates";
    case run::RunEvent::Kind::kState:
      return "state";
    case run::RunEvent::Kind::kError:
      return "error";
  }
  return "error";
}

void AppendMember(std::string& out, std::string_view key, std::string_view json) {
  out += ",\"";
  out += key;
  out += "\":";
  out += json.empty() ? "null" : json;
}

// A run that never started may have no id.
void AppendId(std::string& out, std::string_view id) {
  if (id.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, id);
  }
}

void AppendTimestamp(std::string& out, double timestamp) {
  char text[32];
  auto [end, error] =
      std::to_chars(text, text + sizeof text, timestamp, std::chars_format::fixed, 6);
  out.append(text, error == std::errc() ? end : text);
}

}  // namespace

StreamChunkWriter::StreamChunkWriter(const run::RunStart& start) {
  identity_ += ",\"thread_id\":";
  AppendId(identity_, start.thread_id);
  identity_ += ",\"run_id\":";
  AppendId(identity_, start.run_id);
  identity_ += ",\"metadata\":{\"is_new_thread\":";
  identity_ += start.is_new_thread ? "true" : "false";
  identity_ += ",\"thread_id\":";
  AppendId(identity_, start.thread_id);
}

std::string StreamChunkWriter::Line(const run::RunEvent& event, double timestamp,
                                    std::string_view cursor) const {
  Chunk chunk;
  chunk.event = EventName(event.kind);
  chunk.message = event.message_json;
  chunk.state = event.state_json;
  chunk.data = event.data_json;
  chunk.node = event.node;
  chunk.step = event.step;
  chunk.cursor = cursor;
  return Write(chunk, timestamp);
}

DeltaLinePlaces StreamChunkWriter::AppendLine(std::string& out, const run::RunDelta& delta,
                                              int64_t unix_micros, std::string_view cursor) const {
  DeltaLinePlaces places;
  out += R"({"event":"message","message":)";
  places.message =
      message::AppendDeltaJson(out, delta.message_id, delta.text, delta.reasoning, unix_micros);
  out += R"(,"state":null,"data":null)";
  AppendMetadata(out, delta.node, delta.step, cursor);
  out += R"(},"timestamp":)";
  places.time = out.size();
  out += SecondsText(unix_micros).full();
  places.after_time = out.size();
  out += "}\n";
  return places;
}

std::string StreamChunkWriter::DoneLine(const StreamEnd& end, double timestamp) const {
  // Clients wait for this status, whatever the outcome is.
  std::string data = R"({"status":"done","outcome":")";
  data += run::RunStatusName(end.outcome);
  data += '"';
  if (!end.reason.empty()) {
    data += ",\"reason\":";
    AppendJsonString(data, end.reason);
  }
  if (!end.interrupt_json.empty()) AppendMember(data, "interrupt", end.interrupt_json);
  data += '}';
  Chunk chunk;
  chunk.event = "updates";
  chunk.state = end.state_json;
  chunk.data = data;
  chunk.thread_name = end.thread_name;
  return Write(chunk, timestamp);
}

std::string StreamChunkWriter::Write(const Chunk& chunk, double timestamp) const {
  std::string out;
  out.reserve(chunk.message.size() + chunk.state.size() + chunk.data.size() + identity_.size() +
              kChunkBytes);
  out += "{\"event\":\"";
  out += chunk.event;
  out += '"';
  AppendMember(out, "message", chunk.message);
  AppendMember(out, "state", chunk.state);
  AppendMember(out, "data", chunk.data);
  AppendMetadata(out, chunk.node, chunk.step, chunk.cursor);
  if (!chunk.thread_name.empty()) {
    out += ",\"thread_name\":";
    AppendJsonString(out, chunk.thread_name);
  }
  out += "},\"timestamp\":";
  AppendTimestamp(out, timestamp);
  out += "}\n";
  return out;
}

void StreamChunkWriter::AppendMetadata(std::string& out, std::string_view node, int step,
                                       std::string_view cursor) const {
  out += identity_;
  if (!node.empty()) {
    out += ",\"node\":";
    AppendJsonString(out, node);
  }
  if (step >= 0) {
    char text[16];
    out += ",\"step\":";
    out.append(text, std::to_chars(text, text + sizeof text, step).ptr);
  }
  if (!cursor.empty()) {
    out += ",\"cursor\":";
    AppendJsonString(out, cursor);
  }
}

}  // namespace agent_graph::api
