// Routes of threads, their state and messages.
#include "dispatch_fixture.h"
#include "state/requests.h"

namespace agent_graph::api {
namespace {

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

TEST_F(DispatchTest, ReportsErrorsOfTheState) {
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
  state::PutStateRequest put;
  EXPECT_CALL(state_, PutState(_))
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

// Another request may delete a conversation after this one has found it.
TEST_F(DispatchTest, ADeletedConversationIsNotCreatedAgain) {
  EXPECT_CALL(state_, GetThread(_, "a")).WillRepeatedly(Return(Record("a")));
  state::AppendMessagesRequest append;
  EXPECT_CALL(state_, AppendMessages(_))
      .Times(2)
      .WillRepeatedly(DoAll(SaveArg<0>(&append), Return(NotFound("thread not found"))));
  const std::string conversation = "/openai/v1/conversations/a";
  const std::string items = R"({"items":[{"role":"user","content":"x"}]})";
  EXPECT_EQ(Send("POST", conversation + "/items", items).status, 404);
  EXPECT_TRUE(append.must_exist);
  append = {};
  EXPECT_EQ(Send("POST", conversation, R"({"metadata":{}})").status, 404);
  EXPECT_TRUE(append.must_exist);
}

TEST_F(DispatchTest, AddsMessages) {
  state::AppendMessagesRequest append;
  EXPECT_CALL(state_, AppendMessages(_))
      .WillOnce(testing::DoAll(SaveArg<0>(&append), Return(Status::Ok())));
  json data = Send("POST", "/v1/threads/a/messages",
                   R"({"config":{},"metadata":{"k":1},"messages":[
                   {"role":"user","content":"x","message_id":null,"delta":false,
                    "timestamp":1781611200250,"metadata":{}},
                   {"role":"user","content":"y","message_id":"0"},
                   {"role":"user","content":"z","message_id":"m"}]})")
                  .Data();
  EXPECT_EQ(data["success"], true);
  EXPECT_EQ(append.metadata_json, R"({"k":1})");
  ASSERT_EQ(append.messages.size(), 3u);
  std::set<std::string> ids;
  for (const state::StoredMessage& message : append.messages) ids.insert(message.id);
  EXPECT_EQ(ids.size(), 3u);
  json first = json::parse(append.messages[0].json);
  EXPECT_EQ(first["message_id"], append.messages[0].id);
  EXPECT_EQ(first["timestamp"], 1781611200.25);
  ExpectInvalid(Send("POST", "/v1/threads/a/messages", R"({"messages":[]})"), {"body", "messages"});
  ExpectInvalid(Send("POST", "/v1/threads/a/messages",
                     R"({"messages":[{"role":"user","content":"x","message_id":"m"},
                     {"role":"user","content":"y","message_id":"m"}]})"),
                {"body", "messages", "1", "message_id"});
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

TEST_F(DispatchTest, AProblemThatTheStateFindsIsInTheQueryOrTheBody) {
  const Status problem(StatusCode::kInvalidArgument, "cursor: is not of this list");
  EXPECT_CALL(state_, ListThreads(_, _)).WillOnce(Return(problem));
  ExpectInvalid(Send("GET", "/v1/threads?cursor=x"), {"query"});
  EXPECT_CALL(state_, PutState(_)).WillOnce(Return(problem));
  const Answer answer = Send("PUT", "/v1/threads/a/state", R"({"state":{}})");
  ExpectInvalid(answer, {"body"});
  EXPECT_EQ(answer.Json()["error"]["details"][0]["msg"], problem.message());
}

TEST_F(DispatchTest, PageParametersHaveLimits) {
  const auto status = [this](const std::string& query) {
    return Send("GET", "/v1/threads?" + query).status;
  };
  state::PageRequest asked;
  EXPECT_CALL(state_, ListThreads(_, _))
      .WillRepeatedly(DoAll(SaveArg<1>(&asked), Return(state::ThreadPage{})));
  EXPECT_EQ(status("search=" + std::string(1024, 'x')), 200);
  EXPECT_EQ(asked.search.size(), 1024u);
  EXPECT_EQ(asked.limit, 100u);
  EXPECT_EQ(status("search=" + std::string(1025, 'x')), 422);
  EXPECT_EQ(status("cursor=" + std::string(3 * 1024, 'x')), 200);
  EXPECT_EQ(status("cursor=" + std::string(3 * 1024 + 1, 'x')), 422);
  std::string many;
  for (int i = 0; i < 63; ++i) many += "a&";
  EXPECT_EQ(status(many + "search=x&search=y"), 200);
  EXPECT_EQ(asked.search, "x") << "only the first 64 parameters are read";
}

TEST_F(DispatchTest, AMessageAfterTheFirstMayFillThePage) {
  const std::string message = R"({"message_id":"1"})";
  EXPECT_CALL(state_, ListMessages(_, "a", _))
      .WillRepeatedly(Return(state::MessagePage{{{"1", 1, message}, {"2", 2, message}}, ""}));
  settings_.limits.page_bytes_max = 1;
  EXPECT_EQ(Send("GET", "/v1/threads/a/messages").Data()["messages"].size(), 1u)
      << "a page has at least one message";
}

}  // namespace
}  // namespace agent_graph::api
