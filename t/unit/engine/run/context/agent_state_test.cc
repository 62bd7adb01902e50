#include "run/context/agent_state.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::run {
namespace {

TEST(AgentStateTest, AFreshThreadHasEveryKey) {
  state::ThreadState thread;
  thread.record.thread_id = "t1";
  json state = json::parse(AgentStateJson(thread));
  EXPECT_EQ(state.at("context"), json::array());
  EXPECT_TRUE(state.at("context_summary").is_null());
  const json& meta = state.at("execution_meta");
  EXPECT_EQ(meta.at("current_node"), "START");
  EXPECT_EQ(meta.at("step"), 0);
  EXPECT_EQ(meta.at("is_running"), false);
  EXPECT_EQ(meta.at("is_interrupted"), false);
  EXPECT_EQ(meta.at("is_stopped_requested"), false);
  EXPECT_EQ(meta.at("thread_id"), "t1");
  EXPECT_EQ(meta.at("stop_current_execution"), "none");
  EXPECT_TRUE(meta.at("interrupted_node").is_null());
  EXPECT_TRUE(meta.at("internal_data").is_object());
  EXPECT_FALSE(meta.contains("interrupt"));
}

TEST(AgentStateTest, ARunInFlightIsShownFromItsLease) {
  state::ThreadState thread;
  thread.snapshot.execution_json =
      R"({"status":"interrupted_before","interrupted_node":"B","resume_node":"B"})";
  thread.in_flight = state::RunInFlight{"r1", "MAIN", 2, true};
  json meta = json::parse(AgentStateJson(thread)).at("execution_meta");
  EXPECT_EQ(meta.at("current_node"), "MAIN");
  EXPECT_EQ(meta.at("step"), 2);
  EXPECT_EQ(meta.at("status"), "running");
  EXPECT_EQ(meta.at("is_running"), true);
  EXPECT_EQ(meta.at("is_stopped_requested"), true);
  EXPECT_EQ(meta.at("is_interrupted"), false);
  EXPECT_FALSE(meta.contains("interrupt"));
}

TEST(AgentStateTest, ALostWorkerIsAnErrorWithItsReason) {
  state::ThreadState thread;
  thread.snapshot.execution_json =
      R"({"current_node":"MAIN","step":1,"status":"error","reason":"worker_lost"})";
  json meta = json::parse(AgentStateJson(thread)).at("execution_meta");
  EXPECT_EQ(meta.at("status"), "error");
  EXPECT_EQ(meta.at("internal_data").at("error"), "worker_lost");
  EXPECT_EQ(meta.at("is_running"), false);
}

TEST(AgentStateTest, CustomFieldsCannotHideTheBuiltInOnes) {
  state::ThreadState thread;
  thread.snapshot.fields_json = R"({"city":"Rome","context":"forged","execution_meta":1})";
  thread.snapshot.summary = "short \"one\"";
  thread.window.push_back({"m1", 1, R"({"message_id":"m1"})"});
  json state = json::parse(AgentStateJson(thread));
  EXPECT_EQ(state.at("city"), "Rome");
  EXPECT_EQ(state.at("context").size(), 1u);
  EXPECT_TRUE(state.at("execution_meta").is_object());
  EXPECT_EQ(state.at("context_summary"), "short \"one\"");
}

TEST(AgentStateTest, NoCustomFieldIsWrittenASecondTime) {
  state::ThreadState thread;
  thread.snapshot.fields_json =
      R"({"context":"forged","context_summary":"forged","execution_meta":"forged","city":"Rome"})";
  const std::string text = AgentStateJson(thread);
  EXPECT_EQ(text.find("forged"), std::string::npos) << text;
  EXPECT_EQ(json::parse(text).at("city"), "Rome");
}

TEST(AgentStateTest, CustomFieldsAreShownAsTheyAreStored) {
  state::ThreadState thread;
  for (const char* fields :
       {R"({"a":"},\"b\":[","context":{"x":[1,{"y":"]"}]},"b":-1.5e3,"c":null})",
        R"({"context_summary":"\\","a\"b":{},"d":[],"e":[[],{"":""}],"f":true})",
        R"({"only":"\\\""})"}) {
    thread.snapshot.fields_json = fields;
    json expected = json::parse(fields);
    for (const char* name : {"context", "context_summary"}) expected.erase(name);
    json state = json::parse(AgentStateJson(thread));
    for (const char* name : {"context", "context_summary", "execution_meta"}) state.erase(name);
    EXPECT_EQ(state, expected);
  }
}

TEST(AgentStateTest, FieldsThatCannotBeReadAreLeftOut) {
  state::ThreadState thread;
  for (const char* fields :
       {"", "{}", "{", "[1]", "null", R"({"a)", R"({"a")", R"({")", R"({"a\)"}) {
    thread.snapshot.fields_json = fields;
    EXPECT_EQ(json::parse(AgentStateJson(thread)).size(), 3u) << fields;
  }
}

TEST(AgentStateTest, APausedThreadNamesItsPause) {
  state::ThreadState thread;
  thread.snapshot.execution_json =
      R"({"current_node":"A","step":2,"status":"interrupted_after","interrupted_node":"A",
          "interrupt_reason":"approve?","interrupt_data":{"n":1},"resume_node":"B"})";
  json meta = json::parse(AgentStateJson(thread)).at("execution_meta");
  EXPECT_EQ(meta.at("status"), "interrupted_after");
  EXPECT_EQ(meta.at("is_interrupted"), true);
  EXPECT_EQ(meta.at("interrupted_node"), "A");
  EXPECT_EQ(meta.at("interrupt_reason"), "approve?");
  EXPECT_EQ(meta.at("interrupt_data"), json({{"n", 1}}));
  EXPECT_EQ(meta.at("interrupt"), json({{"node", "A"},
                                        {"reason", "approve?"},
                                        {"status", "interrupted_after"},
                                        {"data", {{"n", 1}}}}));
  // While the next run is in flight, the pause is over.
  thread.in_flight = state::RunInFlight{"r2", "B", 1, false, {"r3", "r4"}};
  meta = json::parse(AgentStateJson(thread)).at("execution_meta");
  for (const char* key : {"interrupted_node", "interrupt_reason", "interrupt_data"}) {
    EXPECT_TRUE(meta.at(key).is_null()) << key;
  }
  EXPECT_EQ(meta.at("queued_runs"), json({"r3", "r4"}));
}

TEST(AgentStateTest, AStopIsShownAsRequestedAndThenAsDone) {
  state::ThreadState thread;
  const auto shown = [&] {
    const json meta = json::parse(AgentStateJson(thread)).at("execution_meta");
    return meta.at("stop_current_execution").get<std::string>() +
           (meta.at("is_stopped_requested").get<bool>() ? " requested" : "");
  };
  EXPECT_EQ(shown(), "none");
  thread.in_flight = state::RunInFlight{"r1", "A", 1, false};
  EXPECT_EQ(shown(), "none");
  thread.in_flight->stop_requested = true;
  EXPECT_EQ(shown(), "stop_requested requested");
  thread.in_flight.reset();
  thread.snapshot.execution_json = R"({"status":"completed","stopped":true})";
  EXPECT_EQ(shown(), "stopped");
  thread.in_flight = state::RunInFlight{"r2", "A", 1, false};
  EXPECT_EQ(shown(), "none") << "the run before was stopped, not this one";
  thread.in_flight.reset();
  thread.snapshot.execution_json = R"({"status":"completed","stopped":"yes"})";
  EXPECT_EQ(shown(), "none");
}

TEST(AgentStateTest, AnErrorIsThatOfTheLastRunOnly) {
  state::ThreadState thread;
  thread.snapshot.execution_json = R"({"status":"error","error":"boom","reason":"other"})";
  EXPECT_EQ(json::parse(AgentStateJson(thread))["execution_meta"]["internal_data"],
            json({{"error", "boom"}}));
  thread.in_flight = state::RunInFlight{"r2", "A", 1, false};
  EXPECT_EQ(json::parse(AgentStateJson(thread))["execution_meta"]["internal_data"], json::object());
}

TEST(ExecutionMetaTest, RoundTrips) {
  ExecutionMeta meta;
  meta.current_node = "A \"quoted\"";
  meta.step = 7;
  meta.phase = ExecutionMeta::Phase::kInterruptedAfter;
  meta.interrupted_node = std::string("A");
  meta.interrupt_reason = "approve?";
  meta.resume_node = std::string("B");
  const std::string deepest = std::string(128, '[') + std::string(128, ']');
  for (const std::string& data : {std::string(R"({"x":1})"), deepest}) {
    meta.interrupt_data_json = data;
    ExecutionMeta read = ExecutionMeta::FromJson(meta.ToJson());
    EXPECT_EQ(read.ToJson(), meta.ToJson());
    EXPECT_EQ(read.resume_node, "B");
  }
}

TEST(ExecutionMetaTest, UnreadableTextIsTheInitialValue) {
  for (const char* text : {"", "{", "[]", "{}", R"({"status":7,"step":"x"})"}) {
    ExecutionMeta meta = ExecutionMeta::FromJson(text);
    EXPECT_EQ(meta.current_node, "START") << text;
    EXPECT_FALSE(meta.interrupted()) << text;
  }
}

TEST(ExecutionMetaTest, KeepsTheErrorAndTheStop) {
  ExecutionMeta meta;
  meta.phase = ExecutionMeta::Phase::kError;
  meta.error = "no \"quota\"";
  meta.stopped = true;
  const ExecutionMeta read = ExecutionMeta::FromJson(meta.ToJson());
  EXPECT_EQ(read.phase, ExecutionMeta::Phase::kError);
  EXPECT_EQ(read.error, "no \"quota\"");
  EXPECT_TRUE(read.stopped);
  EXPECT_FALSE(json::parse(ExecutionMeta().ToJson()).contains("error"));
}

}  // namespace
}  // namespace agent_graph::run
