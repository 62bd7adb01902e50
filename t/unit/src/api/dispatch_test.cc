#include "api/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "graph/compiled_graph.h"
#include "run/runner.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::api {
namespace {

using nlohmann::json;
using testing::_;
using testing::DoAll;
using testing::NiceMock;
using testing::Return;
using testing::SaveArg;

class FakeState : public state::Service {
 public:
  MOCK_METHOD(Result<state::BeginRunReply>, Begin,
              (const state::BeginRun&, const runtime::Cancellation*), (override));
  MOCK_METHOD(Result<state::AppendRunReply>, Append, (const state::AppendRun&), (override));
  MOCK_METHOD(Status, Finish, (const state::FinishRun&), (override));
  MOCK_METHOD(Result<state::StopReply>, RequestStop, (const state::StopRequest&), (override));
  MOCK_METHOD(Result<state::ThreadRecord>, GetThread, (const state::Scope&, const std::string&),
              (override));
  MOCK_METHOD(Result<state::ThreadPage>, ListThreads,
              (const state::Scope&, const state::PageRequest&), (override));
  MOCK_METHOD(Status, DeleteThread, (const state::Scope&, const std::string&), (override));
  MOCK_METHOD(Result<state::ThreadState>, GetState, (const state::Scope&, const std::string&),
              (override));
  MOCK_METHOD(Result<state::ThreadState>, Put, (const state::PutState&), (override));
  MOCK_METHOD(Status, ClearState, (const state::Scope&, const std::string&), (override));
  MOCK_METHOD(Result<state::MessagePage>, ListMessages,
              (const state::Scope&, const std::string&, const state::PageRequest&), (override));
  MOCK_METHOD(Result<state::StoredMessage>, GetMessage,
              (const state::Scope&, const std::string&, const std::string&), (override));
  MOCK_METHOD(Status, DeleteMessage, (const state::Scope&, const std::string&, const std::string&),
              (override));
  MOCK_METHOD(Status, Append, (const state::AppendMessages&), (override));
  MOCK_METHOD(Result<std::vector<state::LogEntry>>, ReadLog,
              (const state::Scope&, const std::string&, uint64_t, uint64_t), (override));
  MOCK_METHOD(Status, Remove, (const state::RemoveMessages&), (override));
  MOCK_METHOD(Result<state::RunTraces>, Read, (const state::ReadRuns&), (override));
  MOCK_METHOD(Status, Set, (const state::SetRemoteTools&), (override));
  MOCK_METHOD(Result<state::RemoteTools>, GetRemoteTools, (), (override));
  std::string TypeName() const override { return "fake"; }
};

struct Answer {
  int status = 0;
  bridge::HeaderList headers;
  std::string body;
  std::string outcome;

  json Json() const { return json::parse(body); }
  json Data() const { return Json().at("data"); }
  std::string Header(std::string_view name) const {
    std::string found;
    for (const auto& [key, value] : headers) {
      if (key != name) continue;
      EXPECT_EQ(found, "") << name << " appears twice";
      found = value;
    }
    return found;
  }
  std::vector<json> Lines() const {
    std::vector<json> lines;
    std::istringstream stream(body);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    return lines;
  }
};

NodeResult Echo(const State& state, RunContext&) {
  std::string text = state.LastUserText();
  if (text == "fail") throw std::runtime_error("node is broken");
  return Message::Assistant("you said " + text);
}

std::shared_ptr<const graph::CompiledGraph> EchoGraph() {
  GraphBuilder builder;
  builder.AddFunction("ECHO", Echo, Execution::kNonBlocking);
  builder.AddEdge(START, "ECHO").AddEdge("ECHO", END);
  return graph::CompiledGraph::Compile(builder, "echo").value();
}

class DispatchTest : public testing::Test {
 protected:
  DispatchTest() : runtime_({}), runner_(EchoGraph(), nullptr, runtime_, {}), graph_(EchoGraph()) {
    EXPECT_TRUE(runtime_.Start().ok());
    api_.settings = &settings_;
    api_.runner = &runner_;
    api_.state = &state_;
    api_.graph = graph_;
    api_.runtime = &runtime_;
    api_.log = &outbox_;
    api_.ids = &ids_;
    guard_ = auth::Guard::Create(settings_, {}).value();
    api_.guard = guard_.get();
  }
  ~DispatchTest() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  bridge::RequestHead Head(const std::string& method, const std::string& target) {
    bridge::RequestHead head;
    size_t question = target.find('?');
    RouteMatch match = MatchRoute(method, target.substr(0, question));
    EXPECT_EQ(match.kind, RouteMatch::Kind::kFound) << target;
    head.route = match.route;
    head.path_parameters = match.path_parameters;
    head.method = method;
    head.path = target.substr(0, question);
    if (question != std::string::npos) head.query = target.substr(question + 1);
    head.request_id = "r-1";
    head.headers = {{"accept", accept_}};
    return head;
  }

  Answer Send(const std::string& method, const std::string& target, bridge::Body body) {
    auto exchange = std::make_shared<bridge::Exchange>(
        bridge::ExchangeAddress{1, 1}, Head(method, target), outbox_, bridge::CreditLimits{});
    exchange->DeliverBody(std::move(body));
    runtime::Promise<bool> done;
    runtime_.Spawn([=, this] {
      Dispatch(exchange, api_);
      done.Set(true);
    });
    EXPECT_TRUE(done.Wait(nullptr, kNoDeadline).ok());
    return Take();
  }
  Answer Send(const std::string& method, const std::string& target, const std::string& body = "") {
    return Send(method, target, bridge::Body{body, -1, 0});
  }

  Answer Take() {
    std::vector<bridge::OutboxItem> items;
    outbox_.Swap(items);
    Answer answer;
    for (bridge::OutboxItem& item : items) {
      if (auto* head = std::get_if<bridge::SendHead>(&item.payload)) {
        EXPECT_EQ(answer.status, 0) << "two heads";
        answer.status = head->head.status;
        answer.headers = head->head.headers;
      } else if (auto* chunk = std::get_if<bridge::SendChunk>(&item.payload)) {
        answer.body += chunk->bytes;
      } else if (auto* end = std::get_if<bridge::End>(&item.payload)) {
        EXPECT_EQ(answer.outcome, "") << "two ends";
        answer.outcome = end->outcome;
      }
    }
    EXPECT_NE(answer.outcome, "") << "no end";
    return answer;
  }

  // The answer is 422 and its first problem is at `location`.
  void ExpectInvalid(const Answer& answer, const std::vector<std::string>& location) {
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_EQ(answer.outcome, "rejected");
    json body = answer.Json();
    EXPECT_TRUE(body["detail"].is_string());
    EXPECT_EQ(body["error"]["code"], "VALIDATION_ERROR");
    EXPECT_EQ(body["error"]["details"].at(0)["loc"], json(location)) << answer.body;
  }

  settings::Settings settings_;
  const IdGenerator ids_;
  bridge::Outbox outbox_;
  runtime::Runtime runtime_;
  run::Runner runner_;
  std::shared_ptr<const graph::CompiledGraph> graph_;
  NiceMock<FakeState> state_;
  std::unique_ptr<auth::Guard> guard_;
  ApiContext api_;
  std::string accept_ = "*/*";
};

state::ThreadRecord Record(const std::string& id) {
  state::ThreadRecord record;
  record.thread_id = id;
  record.metadata_json = R"({"k":1})";
  record.created_micros = 1781611200000000;
  record.updated_micros = 1781611200250000;
  record.last_run_id = "run";
  return record;
}

// --- bodies ----------------------------------------------------------------------------------

TEST_F(DispatchTest, AnswersBadBodiesWith422) {
  for (const char* body : {"{", "", "[]", "null", "\"text\"", "{} x", "{\"a\":\"\xff\"}"}) {
    ExpectInvalid(Send("POST", "/v1/graph/invoke", body), {"body"});
    ExpectInvalid(Send("POST", "/v1/graph/stream", body), {"body"});
  }
  ExpectInvalid(Send("POST", "/v1/graph/invoke", "{}"), {"body", "messages"});
}

TEST_F(DispatchTest, ReadsBodiesOfEverySizeAndPlace) {
  std::string text(200'000, 'x');
  std::string body = R"({"messages":[{"role":"user","content":")" + text + "\"}]}";
  EXPECT_EQ(Send("POST", "/v1/graph/invoke", body).status, 200);

  char name[] = "/tmp/agent_graph_body_XXXXXX";
  int file = mkstemp(name);
  ASSERT_GE(file, 0);
  unlink(name);
  ASSERT_EQ(write(file, body.data(), body.size()), static_cast<ssize_t>(body.size()));
  Answer answer = Send("POST", "/v1/graph/invoke", bridge::Body{"", file, body.size()});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Data()["messages"].size(), 2u);
}

TEST_F(DispatchTest, RefusesBodiesThatAreTooDeep) {
  ExpectInvalid(Send("POST", "/v1/graph/invoke", std::string(1000, '[')), {"body"});
}

TEST_F(DispatchTest, PassesOnThatABodyCannotBeHad) {
  auto exchange = std::make_shared<bridge::Exchange>(bridge::ExchangeAddress{1, 1},
                                                     Head("POST", "/v1/graph/invoke"), outbox_,
                                                     bridge::CreditLimits{});
  exchange->FailBody(Status(StatusCode::kInvalidArgument, "cut"));
  Dispatch(exchange, api_);
  EXPECT_EQ(Take().status, 422);
}

// --- runs ------------------------------------------------------------------------------------

std::string Invocation(const std::string& text, const std::string& more = "") {
  return R"({"messages":[{"role":"user","content":")" + text + "\"}]" + more + "}";
}

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

TEST_F(DispatchTest, InvokeShowsWhatTheGranularitySays) {
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

TEST_F(DispatchTest, StreamShowsWhatTheGranularitySays) {
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
  EXPECT_EQ(answer.Header("X-Request-ID"), "r-1");
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
  EXPECT_EQ(data["info"]["node_count"], 1);
  EXPECT_EQ(data["info"]["edge_count"], 2);
  EXPECT_EQ(data["info"]["checkpointer_type"], "fake");
  EXPECT_EQ(data["info"]["id_type"], "string");
  EXPECT_EQ(data["nodes"], json::parse(R"([{"id":"ECHO","name":"ECHO"}])"));
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

// --- threads ---------------------------------------------------------------------------------

TEST_F(DispatchTest, ThreadsNeedACheckpointer) {
  api_.state = nullptr;
  for (auto [method, path] : {std::pair("GET", "/v1/threads"),
                              {"GET", "/v1/threads/a"},
                              {"DELETE", "/v1/threads/a"},
                              {"PUT", "/v1/threads/a/state"},
                              {"POST", "/v1/threads/a/messages"}}) {
    Answer answer = Send(method, path, "{}");
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(answer.Json()["detail"], "checkpointer not configured");
  }
  EXPECT_EQ(Send("POST", "/v1/graph/invoke", Invocation("hi")).status, 200);
}

TEST_F(DispatchTest, UnusableIdsAre422OnEveryRoute) {
  for (auto [method, tail] : {std::pair("GET", ""),
                              {"DELETE", ""},
                              {"GET", "/state"},
                              {"PUT", "/state"},
                              {"DELETE", "/state"},
                              {"GET", "/messages"},
                              {"POST", "/messages"},
                              {"GET", "/messages/m"},
                              {"DELETE", "/messages/m"}}) {
    for (const char* id : {"%20", "0", "-7", "%FF"}) {
      ExpectInvalid(Send(method, std::string("/v1/threads/") + id + tail, "{}"),
                    {"path", "thread_id"});
    }
  }
  ExpectInvalid(Send("GET", "/v1/threads//state"), {"path", "thread_id"});
  ExpectInvalid(Send("GET", "/v1/threads/t/messages/%20"), {"path", "message_id"});
}

TEST_F(DispatchTest, ListsThreads) {
  state::PageRequest asked;
  EXPECT_CALL(state_, ListThreads(_, _))
      .WillOnce(testing::DoAll(SaveArg<1>(&asked),
                               Return(state::ThreadPage{{Record("a"), Record("b")}, "next"})));
  json data = Send("GET", "/v1/threads?search=x&offset=2&limit=5000&cursor=c").Data();
  EXPECT_EQ(asked.search, "x");
  EXPECT_EQ(asked.offset, 2u);
  EXPECT_EQ(asked.limit, 1000u);
  EXPECT_EQ(asked.cursor, "c");
  EXPECT_EQ(data["next_cursor"], "next");
  ASSERT_EQ(data["threads"].size(), 2u);
  EXPECT_EQ(data["threads"][0], json::parse(R"({"thread_id":"a","thread_name":null,"name":null,
      "user_id":null,"metadata":{"k":1},"created_at":"2026-06-16T12:00:00.000000Z",
      "updated_at":"2026-06-16T12:00:00.250000Z","run_id":"run"})"));
  ExpectInvalid(Send("GET", "/v1/threads?limit=0"), {"query", "limit"});
}

TEST_F(DispatchTest, ReadsAndDeletesAThread) {
  EXPECT_CALL(state_, GetThread(_, "a/b")).WillOnce(Return(Record("a/b")));
  json data = Send("GET", "/v1/threads/a%2Fb").Data();
  EXPECT_EQ(data["thread_data"]["thread_id"], "a/b");
  EXPECT_EQ(data["thread_data"]["thread"]["thread_id"], "a/b");

  EXPECT_CALL(state_, DeleteThread(_, "a")).WillRepeatedly(Return(Status::Ok()));
  ExpectInvalid(Send("DELETE", "/v1/threads/a"), {"body"});
  ExpectInvalid(Send("DELETE", "/v1/threads/a", R"({"config":1})"), {"body", "config"});
  for (const char* body : {"{}", R"({"config":{}})", R"({"config":{"thread_id":"other"}})"}) {
    EXPECT_EQ(Send("DELETE", "/v1/threads/a", body).Data()["success"], true);
  }
}

TEST_F(DispatchTest, TellsWhatTheStateSays) {
  for (auto [code, status] : {std::pair(StatusCode::kNotFound, 404),
                              {StatusCode::kBusy, 409},
                              {StatusCode::kUnavailable, 503},
                              {StatusCode::kDataLoss, 500},
                              {StatusCode::kPermissionDenied, 403}}) {
    EXPECT_CALL(state_, GetThread(_, _)).WillOnce(Return(Status(code, "because")));
    Answer answer = Send("GET", "/v1/threads/a");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.Json()["detail"], "because");
  }
}

TEST_F(DispatchTest, ReadsAndClearsState) {
  state::ThreadState stored;
  stored.record = Record("a");
  stored.snapshot.fields_json = R"({"mood":"calm"})";
  EXPECT_CALL(state_, GetState(_, "a")).WillOnce(Return(stored));
  json data = Send("GET", "/v1/threads/a/state").Data();
  EXPECT_EQ(data["state"]["mood"], "calm");
  EXPECT_EQ(data["state"]["context"], json::array());
  EXPECT_EQ(data["state"]["execution_meta"]["is_running"], false);

  EXPECT_CALL(state_, ClearState(_, "a")).WillRepeatedly(Return(Status::Ok()));
  for (const char* body : {"", "{}", R"({"config":{}})"}) {
    data = Send("DELETE", "/v1/threads/a/state", body).Data();
    EXPECT_EQ(data["deleted"], true);
    EXPECT_EQ(data["success"], true);
  }
  ExpectInvalid(Send("DELETE", "/v1/threads/a/state", "{"), {"body"});
}

TEST_F(DispatchTest, PutsState) {
  state::PutState put;
  EXPECT_CALL(state_, Put(_))
      .WillRepeatedly(testing::DoAll(SaveArg<0>(&put), Return(state::ThreadState{})));
  json data = Send("PUT", "/v1/threads/a/state",
                   R"({"config":{"thread_id":"other"},"state":{"mood":{"x":null},"execution_meta":
                   {"step":9},"context_summary":null,"context":[{"role":"user","content":"x"},
                   {"role":"user","content":"y","message_id":"m"}]}})")
                  .Data();
  EXPECT_EQ(data["updated"], true);
  EXPECT_TRUE(data["state"].is_object());
  EXPECT_EQ(put.thread_id, "a");
  EXPECT_EQ(json::parse(put.fields_json), json::parse(R"({"mood":{"x":null}})"));
  EXPECT_TRUE(put.summary_present);
  EXPECT_FALSE(put.summary.has_value());
  ASSERT_EQ(put.messages.size(), 2u);
  EXPECT_NE(put.messages[0].id, "");
  EXPECT_EQ(put.messages[1].id, "m");
  EXPECT_FALSE(put.context_cleared);

  Send("PUT", "/v1/threads/a/state", R"({"state":{"context":null}})");
  EXPECT_TRUE(put.context_cleared);
  EXPECT_FALSE(put.summary_present);

  ExpectInvalid(Send("PUT", "/v1/threads/a/state", "{}"), {"body", "state"});
  ExpectInvalid(Send("PUT", "/v1/threads/a/state", R"({"state":[]})"), {"body", "state"});
  ExpectInvalid(Send("PUT", "/v1/threads/a/state", R"({"state":{"context":"x"}})"),
                {"body", "state", "context"});
  ExpectInvalid(Send("PUT", "/v1/threads/a/state", R"({"state":{"context_summary":5}})"),
                {"body", "state", "context_summary"});
}

TEST_F(DispatchTest, AddsMessages) {
  state::AppendMessages append;
  EXPECT_CALL(state_, Append(testing::Matcher<const state::AppendMessages&>(_)))
      .WillOnce(testing::DoAll(SaveArg<0>(&append), Return(Status::Ok())));
  json data = Send("POST", "/v1/threads/a/messages",
                   R"({"config":{},"metadata":{"k":1},"messages":[
                   {"role":"user","content":"x","message_id":null,"delta":false,
                    "timestamp":1781611200250,"metadata":{}},
                   {"role":"user","content":"y","message_id":"0"},
                   {"role":"user","content":"z","message_id":"m"},
                   {"role":"user","content":"z","message_id":"m"}]})")
                  .Data();
  EXPECT_EQ(data["success"], true);
  EXPECT_EQ(append.metadata_json, R"({"k":1})");
  ASSERT_EQ(append.messages.size(), 4u);
  std::set<std::string> ids;
  for (const state::StoredMessage& message : append.messages) ids.insert(message.id);
  EXPECT_EQ(ids.size(), 4u);
  json first = json::parse(append.messages[0].json);
  EXPECT_EQ(first["message_id"], append.messages[0].id);
  EXPECT_EQ(first["timestamp"], 1781611200.25);
  ExpectInvalid(Send("POST", "/v1/threads/a/messages", R"({"messages":[]})"), {"body", "messages"});
  ExpectInvalid(Send("POST", "/v1/threads/a/messages",
                     R"({"messages":[{"role":"user","content":"x"}],"metadata":5})"),
                {"body", "metadata"});
}

TEST_F(DispatchTest, ReadsListsAndDeletesMessages) {
  EXPECT_CALL(state_, ListMessages(_, "a", _))
      .WillRepeatedly(Return(state::MessagePage{
          {{"1", 1, R"({"message_id":"1"})"}, {"2", 2, R"({"message_id":"2"})"}}, ""}));
  EXPECT_EQ(Send("GET", "/v1/threads/a/messages?search=").Data(),
            json::parse(R"({"messages":[{"message_id":"1"},{"message_id":"2"}]})"));
  settings_.limits.page_bytes_max = 20;
  EXPECT_EQ(Send("GET", "/v1/threads/a/messages?offset=5").Data(),
            json::parse(R"({"messages":[{"message_id":"1"}],"next_offset":6,"next_cursor":"2"})"));

  EXPECT_CALL(state_, GetMessage(_, "a", "m/1"))
      .WillOnce(Return(state::StoredMessage{"m/1", 1, R"({"message_id":"m/1"})"}));
  EXPECT_EQ(Send("GET", "/v1/threads/a/messages/m%2F1").Data()["message_id"], "m/1");

  EXPECT_CALL(state_, DeleteMessage(_, "a", "m")).WillRepeatedly(Return(Status::Ok()));
  EXPECT_EQ(Send("DELETE", "/v1/threads/a/messages/m").Data()["success"], true);
  EXPECT_EQ(Send("DELETE", "/v1/threads/a/messages/m", R"({"config":{}})").status, 200);
}

TEST_F(DispatchTest, AThrowingHandlerIsAnsweredWith500) {
  EXPECT_CALL(state_, GetThread(_, _)).WillOnce([](auto&&...) -> Result<state::ThreadRecord> {
    throw std::runtime_error("secret inside");
  });
  Answer answer = Send("GET", "/v1/threads/a");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.outcome, "error");
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
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

TEST_F(DispatchTest, FixRemovesWhatDanglesFromTheThreadItRead) {
  state::ThreadState broken;
  broken.record = Record("t");
  broken.window = {
      Stored("u", "user", R"([{"type":"text","text":"x"}])"),
      Stored("a", "assistant", R"([{"type":"tool_call","id":"c","name":"n","args":{}}])")};
  state::ThreadState fixed = broken;
  fixed.window.pop_back();
  state::RemoveMessages removed;
  EXPECT_CALL(state_, GetState(_, "t")).WillOnce(Return(broken)).WillOnce(Return(fixed));
  EXPECT_CALL(state_, Remove(_)).WillOnce(DoAll(SaveArg<0>(&removed), Return(Status::Ok())));
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
  EXPECT_CALL(state_, Remove(_)).Times(0);
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
  state::ReadRuns read;
  EXPECT_CALL(state_, Read(_))
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

}  // namespace
}  // namespace agent_graph::api
