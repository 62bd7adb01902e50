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

}  // namespace
}  // namespace agent_graph::run
