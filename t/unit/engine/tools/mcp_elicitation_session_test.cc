// Servers that ask the user during a call in a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "elicitation_fixture.h"
#include "request_script.h"
#include "tools/mcp/protocol/elicitation.h"

namespace agent_graph::tools {
namespace {

using testing::Connection;
using ::testing::HasSubstr;

std::string Question(const json& params, const std::string& fields = "") {
  const json request = {
      {"jsonrpc", "2.0"}, {"id", "q1"}, {"method", "elicitation/create"}, {"params", params}};
  return fields + "data: " + request.dump() + "\n\n";
}

TEST_F(McpElicitationTest, AStreamWithEventIdsIsLeftAndResumed) {
  RequestScript server(WithSession([](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/call") {
      return RequestScript::Stream(connection, "id: 1\ndata:\n\n" + Question(kAsk, "id: 2\n"));
    }
    if (request.method == "answer") return RequestScript::Send(connection, "202 Ok", "", "");
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("hello Bob")));
  }));
  MakeWith(server);
  CallInput input;
  Make(input);
  ASSERT_TRUE(input.pause);
  EXPECT_TRUE(server.requests("notifications/cancelled").empty());
  EXPECT_TRUE(server.requests("answer").empty());

  // In another process: nothing is shared but what the thread keeps.
  catalog_->Close(runtime_);
  MakeWith(server);
  CallInput next = Answering(input, kBob);
  EXPECT_EQ(Make(next).json, R"("hello Bob")");
  EXPECT_EQ(server.requests("tools/call").size(), 1u) << "it is called once";
  const auto answers = server.requests("answer");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].body, json({{"jsonrpc", "2.0"}, {"id", "q1"}, {"result", kBob}}));
  EXPECT_EQ(answers[0].Header("Mcp-Session-Id"), "s1");
  EXPECT_EQ(server.requests("GET").back().Header("Last-Event-ID"), "2");
}

TEST_F(McpElicitationTest, ASecondQuestionOfAResumedCall) {
  RequestScript server(WithSession([](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/call") {
      return RequestScript::Stream(connection, Question(kAsk, "id: 1\n"));
    }
    if (request.method == "answer") return RequestScript::Send(connection, "202 Ok", "", "");
    if (request.Header("Last-Event-ID") == "1") {
      return RequestScript::Stream(connection, Question(kAsk, "id: 2\n"));
    }
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("ok")));
  }));
  MakeWith(server);
  CallInput input;
  Make(input);
  ASSERT_TRUE(input.pause);
  CallInput second = Answering(input, kBob);
  Make(second);
  ASSERT_TRUE(second.pause);
  CallInput third = Answering(second, kBob);
  EXPECT_EQ(Make(third).json, R"("ok")");
}

TEST_F(McpElicitationTest, ASessionThatEndedWhileTheUserThought) {
  RequestScript server(WithSession([](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "answer") return RequestScript::Send(connection, "404 Gone", "", "");
    return RequestScript::Stream(connection, Question(kAsk, "id: 1\n"));
  }));
  MakeWith(server);
  CallInput input;
  Make(input);
  ASSERT_TRUE(input.pause);
  CallInput next = Answering(input, kBob);
  const ToolOutput output = Make(next);
  EXPECT_TRUE(output.is_error);
  EXPECT_THAT(output.json, HasSubstr("the call was lost while the user was asked"));
  EXPECT_EQ(server.requests("tools/call").size(), 1u) << "never called again";
}

TEST_F(McpElicitationTest, WithoutEventIdsTheQuestionIsCancelled) {
  RequestScript server(WithSession([](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "answer") return RequestScript::Send(connection, "202 Ok", "", "");
    return RequestScript::Stream(
        connection,
        Question(kAsk) + RequestScript::ReplyEvent(request.id, RequestScript::Text("cancelled")));
  }));
  MakeWith(server);
  CallInput input;
  EXPECT_EQ(Make(input).json, R"("cancelled")");
  EXPECT_FALSE(input.pause);
  EXPECT_EQ(server.requests("answer").at(0).body["result"], json({{"action", "cancel"}}));
  EXPECT_THAT(remarks(), HasSubstr("a question to the user was cancelled: its stream cannot be"));
}

// Answers like a server that asks twice and remembers nothing between calls.
bool AskTwice(Connection& connection, const ScriptedRequest& request) {
  static const json other = {{"message", "Sure?"}, {"requestedSchema", kForm}};
  static std::atomic<int> answers = 0;
  if (request.method == "answer") {
    if (request.body["result"] == kBob) ++answers;
    return RequestScript::Send(connection, "202 Ok", "", "");
  }
  answers = 0;
  connection.Send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  connection.SendChunk(Question(kAsk));
  while (answers < 1) {
    if (!connection.SendChunk(": alive\n\n")) return false;
    std::this_thread::yield();
  }
  connection.SendChunk(Question(other));
  while (answers < 2) {
    if (!connection.SendChunk(": alive\n\n")) return false;
    std::this_thread::yield();
  }
  connection.SendChunk(RequestScript::ReplyEvent(request.id, RequestScript::Text("both")));
  connection.SendChunk("");
  return false;
}

TEST_F(McpElicitationTest, ACallThatMayBeRepeatedIsMadeAgainWithEveryAnswer) {
  RequestScript server(WithSession(AskTwice));
  MakeWith(server, {.elicitation = Elicitation::kRepeat});
  CallInput input;
  Make(input);
  ASSERT_TRUE(input.pause);
  EXPECT_EQ(input.pause->questions[0].message, "Who?");
  CallInput second = Answering(input, kBob);
  Make(second);
  ASSERT_TRUE(second.pause);
  EXPECT_EQ(second.pause->questions[0].message, "Sure?");
  CallInput third = Answering(second, kBob);
  EXPECT_EQ(Make(third).json, R"("both")");
  EXPECT_EQ(server.requests("tools/call").size(), 3u);
}

// A server whose questions come on the session's own stream, and say nothing about the call.
class UnrelatedQuestions {
 public:
  explicit UnrelatedQuestions(bool event_ids)
      : event_ids_(event_ids),
        script_([this](Connection& connection, const ScriptedRequest& request) {
          return Answer(connection, request);
        }) {}
  std::string url() const { return script_.url(); }
  const RequestScript& script() const { return script_; }

 private:
  bool Answer(Connection& connection, const ScriptedRequest& request) {
    const std::string session = request.Header("Mcp-Session-Id");
    if (request.method == "initialize") return Begin(connection, request);
    if (request.verb == "GET" && request.Header("Last-Event-ID").empty()) {
      return Ask(connection, session);
    }
    if (request.method == "answer") {
      std::lock_guard lock(mutex_);
      answered_.insert(session);
      return RequestScript::Send(connection, "202 Ok", "", "");
    }
    if (request.verb == "GET" || request.method == "tools/call") {
      return Call(connection, request, session);
    }
    return WithSession(nullptr)(connection, request);
  }

  bool Begin(Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Reply(connection, request,
                                {{"protocolVersion", request.params["protocolVersion"]},
                                 {"capabilities", {{"tools", json::object()}}}},
                                "Mcp-Session-Id: s" + std::to_string(++sessions_) + "\r\n");
  }

  static void Open(Connection& connection) {
    connection.Send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  bool WaitFor(const std::set<std::string>& sessions, const std::string& session,
               Connection& connection) {
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (sessions.contains(session)) return true;
      }
      if (!connection.SendChunk(": alive\n\n")) return false;
      std::this_thread::yield();
    }
  }

  bool Ask(Connection& connection, const std::string& session) {
    Open(connection);
    if (!WaitFor(called_, session, connection)) return false;
    connection.SendChunk(Question(kAsk));
    connection.WaitUntilPeerCloses();
    return false;
  }

  bool Call(Connection& connection, const ScriptedRequest& request, const std::string& session) {
    Open(connection);
    if (event_ids_) connection.SendChunk("id: 1\ndata:\n\n");
    {
      std::lock_guard lock(mutex_);
      called_.insert(session);
    }
    if (!WaitFor(answered_, session, connection)) return false;
    connection.SendChunk(RequestScript::ReplyEvent(request.call_id, RequestScript::Text("ok")));
    connection.SendChunk("");
    return false;
  }

  const bool event_ids_;
  std::mutex mutex_;
  std::set<std::string> called_;    // sessions; guarded by mutex_
  std::set<std::string> answered_;  // likewise
  std::atomic<int> sessions_{0};
  RequestScript script_;
};

TEST_F(McpElicitationTest, AQuestionOnTheOwnStreamOfACallsSession) {
  for (const bool event_ids : {true, false}) {
    UnrelatedQuestions server(event_ids);
    MakeWith(server, {.elicitation = Elicitation::kRepeat, .session_per_call = true});
    CallInput input;
    Make(input);
    ASSERT_TRUE(input.pause);
    EXPECT_EQ(input.pause->questions[0].message, "Who?");
    const auto place = mcp::Continuation::FromJson(input.pause->continuation);
    EXPECT_EQ(place.kind,
              event_ids ? mcp::Continuation::Kind::kStream : mcp::Continuation::Kind::kRepeat);
    if (event_ids) {
      EXPECT_TRUE(server.script().requests("DELETE").empty()) << "it goes on there";
    } else {
      while (server.script().requests("DELETE").empty()) std::this_thread::yield();
    }
    if (event_ids) {
      CallInput next = Answering(input, kBob);
      EXPECT_EQ(Make(next).json, R"("ok")");
      EXPECT_EQ(server.script().requests("tools/call").size(), 1u);
      const ScriptedRequest answer = server.script().requests("answer").at(0);
      EXPECT_EQ(answer.body["result"], kBob);
      EXPECT_EQ(answer.Header("Mcp-Session-Id"), place.session_id);
      EXPECT_NE(place.session_id, "s1") << "that of every other request";
    }
    catalog_->Close(runtime_);
  }
}

TEST_F(McpElicitationTest, AQuestionOnTheOwnStreamOfASharedSessionIsCancelled) {
  UnrelatedQuestions server(true);
  MakeWith(server, {.elicitation = Elicitation::kRepeat});
  CallInput input;
  EXPECT_EQ(Make(input).json, R"("ok")");
  EXPECT_FALSE(input.pause);
  EXPECT_EQ(server.script().requests("answer").at(0).body["result"], json({{"action", "cancel"}}));
}

TEST_F(McpElicitationTest, ASessionOfACallThatDidNotPauseEnds) {
  RequestScript server(WithSession([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Reply(connection, request, RequestScript::Text("ok"));
  }));
  MakeWith(server, {.session_per_call = true});
  CallInput input;
  EXPECT_EQ(Make(input).json, R"("ok")");
  while (server.requests("DELETE").empty()) std::this_thread::yield();
  EXPECT_EQ(server.requests("initialize").size(), 2u) << "one of the list of tools";
}

TEST_F(McpElicitationTest, PagesThatMustBeVisitedFirst) {
  std::atomic<bool> visited = false;
  RequestScript server(WithSession([&](Connection& connection, const ScriptedRequest& request) {
    if (visited) return RequestScript::Reply(connection, request, RequestScript::Text("ok"));
    const json page = {
        {"mode", "url"}, {"elicitationId", "e"}, {"url", "https://h/x"}, {"message", "Sign in"}};
    return RequestScript::Refuse(connection, request, "200 OK",
                                 {{"code", -32042},
                                  {"message", "first"},
                                  {"data", {{"elicitations", json::array({page})}}}});
  }));
  MakeWith(server);
  CallInput input;
  Make(input);
  ASSERT_TRUE(input.pause);
  EXPECT_EQ(input.pause->questions[0].url, "https://h/x");
  CallInput declined = Answering(input, {{"action", "decline"}});
  EXPECT_THAT(Make(declined).json, HasSubstr("did not visit the page"));
  EXPECT_EQ(server.requests("tools/call").size(), 1u);
  visited = true;
  CallInput accepted = Answering(input, {{"action", "accept"}});
  EXPECT_EQ(Make(accepted).json, R"("ok")");
}

TEST_F(McpElicitationTest, HostileQuestionsInASession) {
  for (const json& params :
       {json(5), json::object(), json({{"mode", "url"}, {"url", "file:///etc/passwd"}}),
        json({{"message", std::string(100'000, 'x')}, {"requestedSchema", kForm}})}) {
    RequestScript server(WithSession([&](Connection& connection, const ScriptedRequest& request) {
      if (request.method == "answer") return RequestScript::Send(connection, "202 Ok", "", "");
      return RequestScript::Stream(
          connection, Question(params, "id: 1\n") +
                          RequestScript::ReplyEvent(request.id, RequestScript::Text("so be it")));
    }));
    MakeWith(server);
    CallInput input;
    EXPECT_EQ(Make(input).json, R"("so be it")");
    EXPECT_FALSE(input.pause);
    EXPECT_EQ(server.requests("answer").at(0).body["error"]["code"], -32602);
    catalog_->Close(runtime_);
  }
}

}  // namespace
}  // namespace agent_graph::tools
