#include "api/stream/chunk.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::api {
namespace {

run::RunStart Start() {
  run::RunStart start;
  start.thread_id = "t \"1\"";
  start.run_id = "r1";
  start.is_new_thread = true;
  return start;
}

// Parses a line as a client does: one object and one newline at the end.
json ParseLine(const std::string& line) {
  EXPECT_TRUE(line.ends_with('\n'));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  return json::parse(line);
}

TEST(StreamChunkWriter, WritesEveryKey) {
  run::RunEvent event;
  event.kind = run::RunEvent::Kind::kMessage;
  event.message_json = R"({"role":"assistant"})";
  event.node = "MAIN";
  event.step = 2;
  json chunk = ParseLine(StreamChunkWriter(Start()).Line(event, 1781611200.25));
  EXPECT_EQ(chunk, json::parse(R"({"event":"message","message":{"role":"assistant"},"state":null,
      "data":null,"thread_id":"t \"1\"","run_id":"r1","metadata":{"is_new_thread":true,
      "thread_id":"t \"1\"","node":"MAIN","step":2},"timestamp":1781611200.25})"));
}

TEST(StreamChunkWriter, NamesTheEvents) {
  using Kind = run::RunEvent::Kind;
  StreamChunkWriter writer(Start());
  for (auto [kind, name] : {std::pair(Kind::kMessageDelta, "message"),
                            {Kind::kMessage, "message"},
                            {Kind::kUpdate, "updates"},
                            {Kind::kState, "state"},
                            {Kind::kError, "error"}}) {
    run::RunEvent event;
    event.kind = kind;
    event.state_json = "{}";
    event.data_json = R"({"reason":"x"})";
    json chunk = ParseLine(writer.Line(event, 1));
    EXPECT_EQ(chunk["event"], name);
    EXPECT_EQ(chunk["state"], json::object());
    EXPECT_EQ(chunk["data"]["reason"], "x");
    EXPECT_EQ(chunk["message"], nullptr);
    EXPECT_EQ(chunk.size(), 8u);
  }
}

TEST(StreamChunkWriter, EndsWithDone) {
  const StreamChunkWriter writer(Start());
  json low = ParseLine(writer.DoneLine({}, 1));
  EXPECT_EQ(low["event"], "updates");
  EXPECT_EQ(low["data"], json::parse(R"({"status":"done","outcome":"done"})"));
  EXPECT_EQ(low["state"], nullptr);
  EXPECT_FALSE(low["metadata"].contains("thread_name"));
  json full = ParseLine(
      writer.DoneLine({.state_json = R"({"context":[]})", .thread_name = "calm river"}, 1));
  EXPECT_EQ(full["state"], json::parse(R"({"context":[]})"));
  EXPECT_EQ(full["metadata"]["thread_name"], "calm river");
}

TEST(StreamChunkWriter, EndsWithTheOutcome) {
  const StreamChunkWriter writer(Start());
  for (auto [outcome, name] : {std::pair(run::RunStatus::kDone, "done"),
                               {run::RunStatus::kError, "error"},
                               {run::RunStatus::kStopped, "stopped"}}) {
    EXPECT_EQ(ParseLine(writer.DoneLine({.outcome = outcome}, 1))["data"],
              json({{"status", "done"}, {"outcome", name}}));
  }
  json paused = ParseLine(writer.DoneLine(
      {.outcome = run::RunStatus::kInterrupted, .interrupt_json = R"({"node":"ASK"})"}, 1));
  EXPECT_EQ(paused["data"], json::parse(R"({"status":"done","outcome":"interrupted",
      "interrupt":{"node":"ASK"}})"));
}

}  // namespace
}  // namespace agent_graph::api
