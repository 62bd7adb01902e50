#include "run/log/trace.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "run/log/message_entry.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000;

class TraceTest : public testing::Test {
 protected:
  TraceTest() {
    traces_.run_ids = {"r0", "r1"};
    traces_.run_id = "r1";
    Add("run_started", R"({"run_id":"r1","graph":"g"})", 0);
  }

  void Add(const std::string& kind, const std::string& fields, int64_t milliseconds) {
    traces_.entries.push_back({kind, fields, kStart + milliseconds * 1000});
  }
  json Read() { return json::parse(TraceJson("t", traces_)); }
  json Run() { return Read().at("run"); }

  state::RunTraces traces_;
};

Message Calling(const std::string& tool) {
  Message message = Message::Assistant("let me see");
  message.id = std::string("m");
  message.content.emplace_back(ToolCallBlock{"c1", tool, "{}"});
  message.usage = Usage{.prompt_tokens = 10, .completion_tokens = 4, .reasoning_tokens = 3};
  message.metadata_json = R"({"model":"m-1"})";
  return message;
}

TEST_F(TraceTest, AThreadWithoutRuns) {
  const json data = json::parse(TraceJson("t", {}));
  EXPECT_EQ(
      data,
      json({{"thread_id", "t"}, {"run_count", 0}, {"run_ids", json::array()}, {"run", nullptr}}));
}

TEST_F(TraceTest, AnUnknownRunIsNull) {
  traces_.run_id.clear();
  traces_.entries.clear();
  EXPECT_EQ(Read().at("run"), json());
  EXPECT_EQ(Read().at("run_count"), 2);
  EXPECT_EQ(Read().at("run_ids"), json({"r0", "r1"}));
}

TEST_F(TraceTest, AttemptsOfARunAreOneTrace) {
  Add("node_started", R"({"node":"MAIN","step":1})", 2);
  Add("attempt_started", R"({"run_id":"r1","attempt":2,"graph":"g","graph_hash":"h"})", 20);
  Add("node_started", R"({"node":"MAIN","step":1})", 21);
  Add("node_finished", R"({"node":"MAIN","step":1})", 30);
  Add("run_finished", R"({"run_id":"r1","status":"done"})", 31);
  const json run = Run();
  EXPECT_EQ(run.at("status"), "done");
  EXPECT_EQ(run.at("duration_ms"), 31);
  EXPECT_EQ(run.at("spans").size(), 2u);
  EXPECT_EQ(run.at("events").back().at("summary"), "attempt 2");
}

TEST_F(TraceTest, SpansCountInTheOrderOfTheirFirstAppearance) {
  Add("message", Encode(MessageEntry(Message::User("hi"), ""), 0).json, 1);
  Add("node_started", R"({"node":"MAIN","step":1})", 2);
  Add("message", Encode(MessageEntry(Calling("weather"), "MAIN"), 0).json, 10);
  Add("node_finished", R"({"node":"MAIN","step":1})", 10);
  Add("node_started", R"({"node":"TOOLS","step":2})", 11);
  Add("tool_intent", R"({"node":"TOOLS","tool":"weather","call_id":"c1"})", 12);
  Add("tool_started", R"({"node":"TOOLS","tool":"weather","call_id":"c1"})", 20);
  Add("tool_finished", R"({"node":"TOOLS","tool":"weather","call_id":"c1"})", 20);
  Add("node_started", R"({"node":"MAIN","step":3})", 21);
  Add("node_finished", R"({"node":"MAIN","step":3})", 30);
  Add("run_finished", R"({"run_id":"r1","status":"done"})", 32);

  const json run = Run();
  json shapes = json::array();
  for (const json& span : run.at("spans")) {
    shapes.push_back({span["id"], span["name"], span["kind"], span["parent"], span["start_ms"],
                      span["duration_ms"]});
  }
  EXPECT_EQ(shapes, json({{"root", "graph", "root", nullptr, 0.0, 32.0},
                          {"s1", "node: MAIN", "node", "root", 2.0, 28.0},
                          {"s2", "llm.generate", "llm", "s1", 10.0, 0.0},
                          {"s3", "node: TOOLS", "node", "root", 11.0, 9.0},
                          {"s4", "tool: weather", "tool", "s3", 12.0, 0.0}}));
  EXPECT_EQ(run["spans"][2]["model"], "m-1");
  EXPECT_EQ(run["spans"][2]["input_tokens"], 10);
  EXPECT_EQ(run["spans"][2]["output_tokens"], 4);
  EXPECT_EQ(run["spans"][1]["model"], json());
  EXPECT_TRUE(run["spans"][2]["duration_ms"].is_number_float());

  EXPECT_EQ(run["status"], "done");
  EXPECT_EQ(run["started_at"], 1'700'000'000.0);
  EXPECT_EQ(run["finished_at"], 1'700'000'000.032);
  EXPECT_EQ(run["duration_ms"], 32.0);
  EXPECT_EQ(run["usage"], json({{"prompt_tokens", 10},
                                {"completion_tokens", 4},
                                {"reasoning_tokens", 3},
                                {"total_tokens", 14}}));
  EXPECT_EQ(run["llm_calls"], 1);
  EXPECT_EQ(run["tool_calls"], 1);
  EXPECT_EQ(run["iterations"], 2);
}

TEST_F(TraceTest, EventsAreNewestFirstAndCountDown) {
  Add("message", Encode(MessageEntry(Message::User("hi"), ""), 0).json, 1);
  Add("message", Encode(MessageEntry(Calling("weather"), "MAIN"), 0).json, 2);
  Add("message", Encode(MessageEntry(Message::ToolResult("c1", "1"), "TOOLS"), 0).json, 3);
  Add("state_update", R"({"node":"MAIN","updates":[{"field":"a","value":1}]})", 4);
  Add("error", R"({"node":"MAIN","reason":"broken"})", 5);
  Add("run_finished", R"({"run_id":"r1","status":"error"})", 6);
  const json run = Run();
  EXPECT_EQ(run["status"], "error");
  json shapes = json::array();
  for (const json& event : run.at("events")) {
    shapes.push_back(
        {event["id"], event["type"], event["node"], event["offset_ms"], event["summary"]});
  }
  EXPECT_EQ(shapes, json({{"e5", "result", "", 6.0, "error"},
                          {"e4", "error", "MAIN", 5.0, "broken"},
                          {"e3", "state", "MAIN", 4.0, "a"},
                          {"e2", "message", "TOOLS", 3.0, "tool_result"},
                          {"e1", "message", "MAIN", 2.0, "tool_call weather"},
                          {"e0", "message", "", 1.0, "user: text"}}));
}

TEST_F(TraceTest, AFailingNodeLastsUntilItFails) {
  Add("node_started", R"({"node":"MAIN","step":1})", 2);
  Add("error", R"({"node":"MAIN","reason":"broken"})", 9);
  Add("error", R"({"node":"LATER","reason":"never begun"})", 10);
  const json run = Run();
  ASSERT_EQ(run["spans"].size(), 2u);
  EXPECT_EQ(run["spans"][1]["name"], "node: MAIN");
  EXPECT_EQ(run["spans"][1]["duration_ms"], 7.0);
  EXPECT_EQ(run["iterations"], 1);
}

TEST_F(TraceTest, TheDeepestDataIsFollowed) {
  const std::string data = std::string(128, '[') + std::string(128, ']');
  Add("state_update", R"({"node":"MAIN","updates":[{"field":"a","value":)" + data + "}]}", 2);
  Add("interrupted", R"({"node":"MAIN","reason":"look","data":)" + data + "}", 3);
  EXPECT_EQ(Run()["events"].size(), 2u);
}

TEST_F(TraceTest, ANodeThatIsWaitedForHasNotBegun) {
  Add("node_started", R"({"node":"MAIN","step":1})", 2);
  Add("node_finished", R"({"node":"MAIN","step":1})", 3);
  Add("interrupted", R"({"node":"NEXT","reason":"before node NEXT"})", 4);
  const json run = Run();
  EXPECT_EQ(run["spans"].size(), 2u);
  EXPECT_EQ(run["iterations"], 1);
  EXPECT_EQ(run["events"][0]["node"], "NEXT");
}

TEST_F(TraceTest, StatusOfARunInEachPhase) {
  traces_.in_flight = true;
  EXPECT_EQ(Run()["status"], "running");
  EXPECT_EQ(Run()["finished_at"], json());
  traces_.in_flight = false;
  EXPECT_EQ(Run()["status"], "error") << "given up";
  Add("run_finished", R"({"run_id":"another","status":"error"})", 1);
  EXPECT_EQ(Run()["finished_at"], json()) << "the end of another run";
  for (auto [status, shown] : {std::pair("stopped", "stopped"), std::pair("interrupted", "done")}) {
    traces_.entries.resize(1);
    Add("run_finished", std::string(R"({"run_id":"r1","status":")") + status + "\"}", 2);
    EXPECT_EQ(Run()["status"], shown);
  }
}

TEST_F(TraceTest, EventsDescribeWhatHappened) {
  Message answer = Calling("weather");
  answer.content.resize(1);
  Add("message", Encode(MessageEntry(answer, "MAIN"), 0).json, 1);
  Add("node_finished", R"({"node":"MAIN","step":3})", 2);
  Add("state_update",
      R"({"node":"MAIN","updates":[{"field":"a"},{"field":"b"}],"summary":"short"})", 3);
  Add("state_update", R"({"node":"MAIN","updates":[],"summary":"short"})", 4);
  Add("interrupted", R"({"node":"NEXT","reason":"approve?"})", 5);
  const json run = Run();
  EXPECT_EQ(run["run_id"], "r1");
  EXPECT_EQ(run["thread_id"], "t");
  std::vector<std::string> events;
  for (const json& event : run.at("events")) {
    events.push_back(event["type"].get<std::string>() + ": " + event["summary"].get<std::string>());
  }
  EXPECT_EQ(events, (std::vector<std::string>{"updates: interrupted: approve?", "state: summary",
                                              "state: a, b, summary", "updates: step 3",
                                              "message: llm.generate \u00b7 14 tokens"}));
}

TEST_F(TraceTest, EntriesThatCannotBeReadAreLeftOut) {
  for (const char* fields : {"{", "[1]", "5", ""}) Add("message", fields, 1);
  Add("message", R"({"node":5,"role":5,"blocks":5,"tools":"x"})", 2);
  Add("state_update", R"({"node":"MAIN","updates":5})", 3);
  Add("node_finished", R"({"node":"MAIN","step":"x"})", 4);
  json summaries = json::array();
  const json run = Run();
  for (const json& event : run.at("events")) summaries.push_back(event["summary"]);
  EXPECT_EQ(summaries, json({"step 0", "", ": "}));
}

TEST_F(TraceTest, CallsWithoutAMessageAreCounted) {
  const auto finished = [](const std::string& node, const std::string& message_id) {
    entry::ModelFinished call{.node = node, .model_name = "default", .stop_reason = "stop"};
    call.reply = {.model = "m-2", .message_id = message_id, .input_tokens = 7, .output_tokens = 2};
    return Encode(call, 0).json;
  };
  Add("node_started", R"({"node":"MAIN","step":1})", 1);
  Add("model_finished", finished("MAIN", "m"), 2);
  Add("message", Encode(MessageEntry(Calling("weather"), "MAIN"), 0).json, 3);
  Add("node_finished", R"({"node":"MAIN","step":1})", 3);
  Add("node_started", R"({"node":"TITLE","step":2})", 4);
  Add("model_finished", finished("TITLE", "of a field"), 5);
  Add("node_finished", R"({"node":"TITLE","step":2})", 6);
  Add("model_finished", finished("", ""), 8);  // a summary
  Add("run_finished", R"({"run_id":"r1","status":"done"})", 9);
  const json run = Run();
  json calls = json::array();
  for (const json& span : run.at("spans")) {
    if (span["kind"] != "llm") continue;
    calls.push_back({span["parent"], span["start_ms"], span["model"], span["input_tokens"]});
  }
  EXPECT_EQ(calls, json({{"s1", 3.0, "m-1", 10}, {"s3", 5.0, "m-2", 7}, {"root", 8.0, "m-2", 7}}));
  EXPECT_EQ(run["llm_calls"], 3);
  EXPECT_EQ(run["usage"]["prompt_tokens"], 24);
  EXPECT_EQ(run["usage"]["total_tokens"], 32);
}

TEST_F(TraceTest, CallsThatEndedHaveNoDuration) {
  Add("message", Encode(MessageEntry(Calling("weather"), "MAIN"), 0).json, 5);
  Add("tool_intent", R"({"node":"TOOLS","tool":"weather","call_id":"c1"})", 7);
  Add("tool_finished", R"({"node":"TOOLS","tool":"weather","call_id":"c1"})", 9);
  for (const json& span : Run()["spans"]) {
    if (span["kind"] == "llm" || span["kind"] == "tool") {
      EXPECT_EQ(span["duration_ms"], 0.0);
    }
  }
}

}  // namespace
}  // namespace agent_graph::run
