// Routes of runs: request fields, answers, and the routes stop, fix and traces.
#include "dispatch_fixture.h"
#include "state/requests.h"

namespace agent_graph::api {
namespace {

TEST_F(DispatchTest, ChecksTheFieldsOfARun) {
  struct {
    const char* more;
    std::vector<std::string> location;
  } cases[] = {
      {R"(,"recursion_limit":0)", {"body", "recursion_limit"}},
      {R"(,"recursion_limit":101)", {"body", "recursion_limit"}},
      {R"(,"response_granularity":"medium")", {"body", "response_granularity"}},
      {R"(,"config":5)", {"body", "config"}},
      {R"(,"config":{"thread_id":{}})", {"body", "config", "thread_id"}},
      {R"(,"config":{"thread_id":"0"})", {"body", "config", "thread_id"}},
      {R"(,"config":{"thread_id":-3})", {"body", "config", "thread_id"}},
      {R"(,"initial_state":[])", {"body", "initial_state"}},
  };
  for (const auto& [more, location] : cases) {
    ExpectInvalid(Send("POST", "/v1/graph/invoke", Invocation("x", more)), location);
    Answer streamed = Send("POST", "/v1/graph/stream", Invocation("x", more));
    ExpectInvalid(streamed, location);
    EXPECT_EQ(streamed.Header("Content-Type"), "application/json");
    EXPECT_EQ(streamed.Header("Cache-Control"), "");
  }
  for (const char* more :
       {R"(,"recursion_limit":1)", R"(,"recursion_limit":100)", R"(,"config":{"thread_id":"  "})",
        R"(,"config":null)", R"(,"config":{"thread_id":17})", R"(,"initial_state":null)"}) {
    EXPECT_EQ(Send("POST", "/v1/graph/invoke", Invocation("x", more)).status, 200) << more;
  }
}

TEST_F(DispatchTest, InvokeReturnsTheRequestedGranularity) {
  for (const char* granularity : {"low", "partial", "full"}) {
    Answer answer =
        Send("POST", "/v1/graph/invoke",
             Invocation("hi", std::string(R"(,"response_granularity":")") + granularity + "\""));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.outcome, "ok");
    json data = answer.Data();
    EXPECT_EQ(data["messages"].size(), 2u);
    EXPECT_EQ(data["messages"][1]["content"][0]["text"], "you said hi");
    bool low = std::string(granularity) == "low";
    EXPECT_EQ(data["state"].is_null(), low);
    EXPECT_EQ(data["context"].is_null(), low);
    EXPECT_TRUE(data["summary"].is_null());
    EXPECT_NE(data["meta"]["thread_id"], "");
    EXPECT_TRUE(data["meta"]["is_new_thread"].is_boolean());
  }
}

TEST_F(DispatchTest, InvokeHonoursTheClientsIds) {
  Answer answer = Send("POST", "/v1/graph/invoke",
                       Invocation("hi", R"(,"config":{"thread_id":"a/b","run_id":"run-7"})"));
  EXPECT_EQ(answer.Data()["meta"]["thread_id"], "a/b");
  EXPECT_EQ(answer.Data()["meta"]["run_id"], "run-7");
  answer = Send("POST", "/v1/graph/invoke", Invocation("hi", R"(,"config":{"run_id":"a b\n"})"));
  EXPECT_NE(answer.Data()["meta"]["run_id"], "a b\n");
}

TEST_F(DispatchTest, FailedInvokeIs500) {
  Answer answer = Send("POST", "/v1/graph/invoke", Invocation("fail"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.outcome, "error");
  EXPECT_EQ(answer.Json()["error"]["code"], "GRAPH_ERROR");
}

TEST_F(DispatchTest, StreamReturnsTheRequestedGranularity) {
  for (const char* granularity : {"low", "partial", "full"}) {
    Answer answer =
        Send("POST", "/v1/graph/stream",
             Invocation("hi", std::string(R"(,"response_granularity":")") + granularity + "\""));
    ASSERT_EQ(answer.status, 200);
    std::map<std::string, int> events;
    std::vector<json> lines = answer.Lines();
    for (const json& line : lines) ++events[line["event"]];
    bool low = std::string(granularity) == "low";
    bool full = std::string(granularity) == "full";
    EXPECT_GE(events["message"], 1);
    EXPECT_EQ(events["updates"] > 1, !low) << granularity;
    EXPECT_EQ(events["state"] > 0, full) << granularity;
    EXPECT_EQ(lines.back()["data"]["status"], "done");
    for (const json& line : lines) {
      EXPECT_EQ(line.size(), 8u);
      EXPECT_EQ(line["thread_id"], lines[0]["thread_id"]);
      EXPECT_EQ(line["metadata"]["thread_id"], line["thread_id"]);
      if (line["event"] == "updates") {
        EXPECT_EQ(line["state"].is_null(), low);
      }
      if (line["event"] == "message") {
        EXPECT_EQ(line["message"]["role"], "assistant");
      }
    }
  }
}

TEST_F(DispatchTest, StreamHasItsHeadersOnce) {
  Answer answer = Send("POST", "/v1/graph/stream", Invocation("hi"));
  EXPECT_EQ(answer.Header("Content-Type"), "text/event-stream");
  EXPECT_EQ(answer.Header("Cache-Control"), "no-cache, no-transform");
  EXPECT_EQ(answer.Header("Connection"), "keep-alive");
  EXPECT_EQ(answer.Header("X-Accel-Buffering"), "no");
  EXPECT_EQ(answer.Header("Content-Encoding"), "identity");
  accept_ = "Application/X-NDJSON, application/json";
  answer = Send("POST", "/v1/graph/stream", Invocation("hi"));
  EXPECT_EQ(answer.Header("Content-Type"), "application/x-ndjson");
}

TEST_F(DispatchTest, FailedStreamEndsWithErrorAndDone) {
  Answer answer = Send("POST", "/v1/graph/stream", Invocation("fail"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.outcome, "error");
  std::vector<json> lines = answer.Lines();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[lines.size() - 2]["event"], "error");
  EXPECT_TRUE(lines[lines.size() - 2]["data"]["reason"].is_string());
  EXPECT_EQ(lines.back()["data"]["status"], "done");
}

TEST_F(DispatchTest, DescribesTheGraph) {
  json data = Send("GET", "/v1/graph").Data();
  EXPECT_EQ(data["info"]["node_count"], 3);
  EXPECT_EQ(data["info"]["edge_count"], 2);
  EXPECT_EQ(data["info"]["checkpointer_type"], "fake");
  EXPECT_EQ(data["info"]["id_type"], "string");
  EXPECT_EQ(data["nodes"], json::parse(R"([{"id":"__start__","name":"__start__"},
                                           {"id":"ECHO","name":"ECHO"},
                                           {"id":"__end__","name":"__end__"}])"));
  EXPECT_EQ(data["edges"][0]["source"], "__start__");
  EXPECT_EQ(data["edges"][0]["target"], "ECHO");
  json schema = Send("GET", "/v1/graph:StateSchema").Data();
  EXPECT_EQ(schema["type"], "object");
  EXPECT_TRUE(schema["properties"].contains("context"));
  api_.state = nullptr;
  data = Send("GET", "/v1/graph").Data();
  EXPECT_EQ(data["info"]["checkpointer"], false);
  EXPECT_TRUE(data["info"]["checkpointer_type"].is_null());
}

// --- stop, fix, traces ---------------------------------------------------------------------------

TEST_F(DispatchTest, StopAsksTheStateWhereTheRunIs) {
  state::StopRequest asked;
  EXPECT_CALL(state_, RequestStop(_))
      .WillOnce(DoAll(SaveArg<0>(&asked), Return(state::StopReply{true, "r1"})));
  Answer answer = Send("POST", "/v1/graph/stop", R"({"thread_id":"t","config":{"cancel":true}})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(asked.thread_id, "t");
  EXPECT_TRUE(asked.cancel);
  json data = answer.Data();
  EXPECT_EQ(data["thread_id"], "t");
  EXPECT_EQ(data["status"], "stopped");
  EXPECT_EQ(data["success"], true);
  EXPECT_EQ(data["running"], true);
  EXPECT_EQ(data["run_id"], "r1");
  EXPECT_TRUE(data["message"].is_string());
  EXPECT_TRUE(data["stopped_at"].is_string());
}

TEST_F(DispatchTest, StopOfAnIdleThreadIsNoError) {
  state::StopRequest asked;
  EXPECT_CALL(state_, RequestStop(_))
      .WillOnce(DoAll(SaveArg<0>(&asked), Return(state::StopReply{})));
  Answer answer = Send("POST", "/v1/graph/stop", R"({"thread_id":7,"config":null})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(asked.thread_id, "7");
  EXPECT_FALSE(asked.cancel);
  EXPECT_EQ(answer.Data()["success"], true);
  EXPECT_EQ(answer.Data()["running"], false);
  EXPECT_EQ(answer.Data()["reason"], "not-running");
  EXPECT_EQ(answer.Data()["stopped_at"], json());
  api_.state = nullptr;
  EXPECT_EQ(Send("POST", "/v1/graph/stop", R"({"thread_id":"t"})").Data()["running"], false);
}

TEST_F(DispatchTest, StopAndFixNeedAThread) {
  for (const char* path : {"/v1/graph/stop", "/v1/graph/fix"}) {
    for (const char* body : {"{}", R"({"thread_id":" "})", R"({"thread_id":null})",
                             R"({"thread_id":0})", R"({"thread_id":[]})"}) {
      ExpectInvalid(Send("POST", path, body), {"body", "thread_id"});
    }
    ExpectInvalid(Send("POST", path, R"({"thread_id":"t","config":1})"), {"body", "config"});
  }
  ExpectInvalid(Send("POST", "/v1/graph/stop", R"({"thread_id":"t","config":{"cancel":"yes"}})"),
                {"body", "config", "cancel"});
}

state::StoredMessage Stored(const std::string& id, const std::string& role,
                            const std::string& content) {
  return {id, 0,
          R"({"message_id":")" + id + R"(","role":")" + role + R"(","content":)" + content + "}"};
}

TEST_F(DispatchTest, FixRemovesDanglingMessagesOfTheThreadItRead) {
  state::ThreadState broken;
  broken.record = Record("t");
  broken.window = {
      Stored("u", "user", R"([{"type":"text","text":"x"}])"),
      Stored("a", "assistant", R"([{"type":"tool_call","id":"c","name":"n","args":{}}])")};
  state::ThreadState fixed = broken;
  fixed.window.pop_back();
  state::RemoveMessagesRequest removed;
  EXPECT_CALL(state_, GetState(_, "t")).WillOnce(Return(broken)).WillOnce(Return(fixed));
  EXPECT_CALL(state_, RemoveMessages(_))
      .WillOnce(DoAll(SaveArg<0>(&removed), Return(Status::Ok())));
  Answer answer = Send("POST", "/v1/graph/fix", R"({"thread_id":"t"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(removed.message_ids, std::vector<std::string>{"a"});
  EXPECT_EQ(removed.updated_micros, broken.record.updated_micros);
  json data = answer.Data();
  EXPECT_EQ(data["success"], true);
  EXPECT_EQ(data["removed_count"], 1);
  EXPECT_EQ(data["state"]["context"].size(), 1u);
}

TEST_F(DispatchTest, FixOfAValidAnUnknownAndABusyThread) {
  state::ThreadState valid;
  valid.record = Record("t");
  valid.window = {Stored("u", "user", R"([{"type":"text","text":"x"}])")};
  state::ThreadState busy = valid;
  busy.in_flight = state::RunInFlight{"r", "MAIN", 1, false};
  EXPECT_CALL(state_, GetState(_, "t"))
      .WillOnce(Return(valid))
      .WillOnce(Return(Status(StatusCode::kNotFound, "thread not found")))
      .WillOnce(Return(busy));
  EXPECT_CALL(state_, RemoveMessages(_)).Times(0);
  json data = Send("POST", "/v1/graph/fix", R"({"thread_id":"t"})").Data();
  EXPECT_EQ(data["success"], true);
  EXPECT_EQ(data["removed_count"], 0);
  EXPECT_TRUE(data["state"].is_object());
  data = Send("POST", "/v1/graph/fix", R"({"thread_id":"t"})").Data();
  EXPECT_EQ(data["success"], false);
  EXPECT_EQ(data["removed_count"], 0);
  EXPECT_EQ(data["state"], json());
  EXPECT_EQ(Send("POST", "/v1/graph/fix", R"({"thread_id":"t"})").status, 409);
}

TEST_F(DispatchTest, TracesAreEmptyForUnknownThreadsAndInProduction) {
  state::ReadRunsRequest read;
  EXPECT_CALL(state_, ReadRuns(_))
      .WillOnce(DoAll(SaveArg<0>(&read), Return(Status(StatusCode::kNotFound, "none"))));
  Answer answer = Send("GET", "/v1/observability/t?run_id=r7");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(read.thread_id, "t");
  EXPECT_EQ(read.run_id, "r7");
  EXPECT_EQ(read.runs_max, 20u);
  EXPECT_EQ(read.entries_max, 2000u);
  const json nothing = {
      {"thread_id", "t"}, {"run_count", 0}, {"run_ids", json::array()}, {"run", nullptr}};
  EXPECT_EQ(answer.Data(), nothing);
  settings_.mode = settings::Mode::kProduction;
  EXPECT_EQ(Send("GET", "/v1/observability/t").Data(), nothing);
}

TEST_F(DispatchTest, ARunIdIsKeptIfLogsAndPathsCanHoldIt) {
  const auto kept = [this](const std::string& id) {
    const std::string more = R"(,"config":{"run_id":)" + json(id).dump() + "}";
    return Send("POST", "/v1/graph/invoke", Invocation("hi", more)).Data()["meta"]["run_id"] == id;
  };
  for (const std::string& id : {std::string("az"), std::string("AZ"), std::string("09"),
                                std::string("a-b_c.d:e"), std::string(128, 'x')}) {
    EXPECT_TRUE(kept(id)) << id;
  }
  for (const std::string& id :
       {std::string(), std::string(129, 'x'), std::string("."), std::string(".."),
        std::string("a/b"), std::string("a;b"), std::string("a@b"), std::string("a[b"),
        std::string("a`b"), std::string("a{b"), std::string("\u00e4")}) {
    EXPECT_FALSE(kept(id)) << id;
  }
  EXPECT_EQ(Send("POST", "/v1/graph/invoke", Invocation("hi", R"(,"config":{"run_id":5})")).status,
            200);
}

TEST_F(DispatchTest, StopNamesTheRunThatItIsFor) {
  state::StopRequest asked;
  EXPECT_CALL(state_, RequestStop(_))
      .WillRepeatedly(DoAll(SaveArg<0>(&asked), Return(state::StopReply{})));
  Send("POST", "/v1/graph/stop", R"({"thread_id":"t","run_id":"r7","config":{"cancel":false}})");
  EXPECT_EQ(asked.run_id, "r7");
  EXPECT_FALSE(asked.cancel);
  const json data = Send("POST", "/v1/graph/stop", R"({"thread_id":"t","run_id":null})").Data();
  EXPECT_EQ(asked.run_id, "");
  EXPECT_EQ(data["ok"], true);
}

TEST_F(DispatchTest, FixTriesAgainWhileOthersChangeTheThread) {
  state::ThreadState broken;
  broken.record = Record("t");
  broken.window = {
      Stored("a", "assistant", R"([{"type":"tool_call","id":"c","name":"n","args":{}}])")};
  const Status busy(StatusCode::kBusy, "changed meanwhile");
  EXPECT_CALL(state_, GetState(_, "t")).WillRepeatedly(Return(broken));
  EXPECT_CALL(state_, RemoveMessages(_))
      .WillOnce(Return(busy))
      .WillOnce(Return(busy))
      .WillOnce(Return(Status::Ok()))
      .WillOnce(Return(busy))
      .WillOnce(Return(busy))
      .WillOnce(Return(busy))
      .WillOnce(Return(Status(StatusCode::kUnavailable, "no state")));
  const json data = Send("POST", "/v1/graph/fix", R"({"thread_id":"t"})").Data();
  EXPECT_EQ(data["success"], true);
  EXPECT_EQ(data["removed_count"], 1);
  EXPECT_EQ(data["message"], "1 message removed");
  EXPECT_EQ(Send("POST", "/v1/graph/fix", R"({"thread_id":"t"})").status, 409);
  EXPECT_EQ(Send("POST", "/v1/graph/fix", R"({"thread_id":"t"})").status, 503) << "not tried again";
}

TEST_F(DispatchTest, DescribesTheServiceAroundTheGraph) {
  const json info = Send("GET", "/v1/graph").Data()["info"];
  EXPECT_EQ(info["is_realtime"], false);
  EXPECT_EQ(info["publisher"], false);
  EXPECT_EQ(info["store"], false);
  EXPECT_EQ(info["interrupt_before"], json::array());
  EXPECT_EQ(info["interrupt_after"], json::array());
  EXPECT_TRUE(info["context_type"].is_null());
  EXPECT_EQ(info["id_generator"], ids_.name());
  EXPECT_EQ(info["state_type"], "AgentState");
  EXPECT_TRUE(info["state_fields"].is_array());
  const auto context_type = [this](bool summarize) {
    GraphBuilder builder;
    builder.AddFunction("ECHO", Echo, Execution::kNonBlocking).AddEdge(START, "ECHO");
    builder.SetContext({.messages_max = 2, .summarize = summarize}).InterruptAfter({"ECHO"});
    api_.graph = graph::CompiledGraph::Compile(builder, "echo").value();
    const json changed = Send("GET", "/v1/graph").Data()["info"];
    EXPECT_EQ(changed["interrupt_after"], json({"ECHO"}));
    return changed["context_type"];
  };
  EXPECT_EQ(context_type(true), "SummaryContext");
  EXPECT_EQ(context_type(false), "WindowContext");
}

TEST_F(DispatchTest, AResultWithoutAThreadIsThatOfTheThreadThatWaits) {
  state::WaitingThreadQuery asked;
  EXPECT_CALL(state_, FindWaitingThread(_))
      .Times(2)
      .WillRepeatedly(DoAll(SaveArg<0>(&asked), Return(Status(StatusCode::kNotFound, "none"))));
  const std::string messages =
      R"({"messages":[{"role":"tool","content":[{"type":"tool_result","call_id":"c1","output":1},
          {"type":"tool_result","call_id":"c2","output":1}]}])";
  for (const char* path : {"/v1/graph/invoke", "/v1/graph/stream"}) {
    asked = {};
    EXPECT_EQ(Send("POST", path, messages + "}").status, 422);
    EXPECT_EQ(asked.call_ids, (std::vector<std::string>{"c1", "c2"}));
    // The state is not asked if the request names its thread, or has no tool result.
    EXPECT_EQ(Send("POST", path, messages + R"(,"config":{"thread_id":"t"}})").status, 422);
    EXPECT_EQ(Send("POST", path, Invocation("hi")).status, 200);
  }
}

}  // namespace
}  // namespace agent_graph::api
