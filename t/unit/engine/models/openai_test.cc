#include "models/openai.h"

#include <gmock/gmock.h>

#include <future>
#include <string>

#include "../net/scripted_server.h"
#include "agent_graph/json.h"
#include "collect.h"
#include "openai_fixture.h"

namespace agent_graph::models {
namespace {

using runtime::CancelReason;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(OpenAiTest, StreamsAReply) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    SendStream(
        connection,
        {TextEvent("Hel"), ": keep-alive\n\n", TextEvent("lo"), kStopEvent,
         Event(R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}})"), kEndEvent});
  });
  options_.headers = {{"X-Team", "blue"}};
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_THAT(got.texts, ElementsAre("Hel", "lo"));
  EXPECT_EQ(got.reply->message.Text(), "Hello");
  EXPECT_EQ(got.reply->message.usage->total_tokens, 5);

  const std::string request = received.get_future().get();
  EXPECT_THAT(request, StartsWith("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer top-secret\r\n"));
  EXPECT_THAT(request, HasSubstr("X-Team: blue\r\n"));
  const auto body = json::parse(request.substr(request.find("\r\n\r\n")));
  EXPECT_EQ(body["model"], "small");
}

TEST_F(OpenAiTest, DeliversEachPieceAsItArrives) {
  std::promise<void> first_was_seen;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(TextEvent("one"));
    first_was_seen.get_future().wait();
    connection.SendChunk(kStopEvent + kEndEvent);
    connection.SendChunk("");
  });
  options_.base_url = server.url();
  auto model =
      OpenAiModel::Create(options_, std::make_shared<const net::HttpClient>(Environment()));
  const auto reply = Run([&] {
    return (*model)->Generate(Ask("hi"), {}, [&](const ModelDelta& delta) {
      EXPECT_EQ(delta.text, "one");
      first_was_seen.set_value();
      return Status::Ok();
    });
  });
  EXPECT_TRUE(reply.ok());
}

TEST_F(OpenAiTest, StreamCutIntoBytes) {
  const std::string events = TextEvent("\xe2\x82\xac") + kStopEvent + kEndEvent;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    for (const char byte : events) connection.SendChunk(std::string(1, byte));
    connection.SendChunk("");
  });
  EXPECT_EQ(Call(server).reply->message.Text(), "\xe2\x82\xac");
}

TEST_F(OpenAiTest, ReusesItsConnection) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) {
      SendStream(connection, {TextEvent("x"), kStopEvent, kEndEvent});
    }
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Call(server).reply.ok());
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(OpenAiTest, ReadsOneJsonDocument) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(WholeReply(
        "200 OK\r\nContent-Type: application/json; charset=utf-8",
        R"({"model":"m","choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]})"));
  });
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_EQ(got.reply->message.Text(), "Hello");
  EXPECT_THAT(got.texts, ElementsAre("Hello"));
  EXPECT_EQ(got.hidden_bytes, 80u) << "the document, before its end";
}

TEST_F(OpenAiTest, CountsTheArgumentsOfADocumentOnce) {
  const std::string document =
      R"({"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"f",)"
      R"("arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]})";
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(WholeReply("200 OK\r\nContent-Type: application/json", document));
  });
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_EQ(got.reply->message.ToolCalls().size(), 1u);
  EXPECT_EQ(got.hidden_bytes, document.size());
}

TEST_F(OpenAiTest, MalformedEvent) {
  const Status status = FailureOf({TextEvent("x"), Event("{\"choices\":["), kEndEvent});
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(), "the model provider sent a malformed chunk");
}

TEST_F(OpenAiTest, CutStream) {
  EXPECT_EQ(FailureOf({TextEvent("x")}).message(),
            "the model provider's reply broke off before its end");
  EXPECT_EQ(FailureOf({TextEvent("x"), "data: {\"choi"}).message(),
            "the model provider's reply broke off before its end");
  EXPECT_EQ(FailureOf({}).message(), "the model provider's reply is empty");
}

TEST_F(OpenAiTest, ConnectionLostInTheMiddle) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(TextEvent("x"));
  });
  const Status status = Call(server).reply.status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(),
            "the model provider failed: the server closed the connection too early");
  EXPECT_EQ(server.connections(), 1) << "no second attempt after the first piece";
}

TEST_F(OpenAiTest, ConnectionLostAfterTheReasonToStop) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(TextEvent("x") + kStopEvent);
  });
  EXPECT_EQ(Call(server).reply->message.Text(), "x");
}

TEST_F(OpenAiTest, ServerThatKeepsTheStreamOpenAfterItsEnd) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(TextEvent("x") + kEndEvent);
    connection.WaitUntilPeerCloses();
  });
  EXPECT_EQ(Call(server).reply->message.Text(), "x");
}

// Neither the counts of tokens nor the mark of the end come, but signs of life.
TEST_F(OpenAiTest, ServerThatNeverEndsACompleteReply) {
  options_.idle_timeout = std::chrono::milliseconds(200);
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(TextEvent("x") + kStopEvent);
    while (!connection.WaitUntilPeerClosesFor(20)) connection.SendChunk(": waiting\n\n");
  });
  EXPECT_EQ(Call(server).reply->message.Text(), "x");
}

// As some servers do, and the reply goes on for longer than a complete one may stay open.
TEST_F(OpenAiTest, ServerThatNamesAStopReasonInEachChunk) {
  options_.idle_timeout = milliseconds(1'000);
  const std::string event =
      Event(R"({"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]})");
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    for (int i = 0; i < 60; ++i) {
      connection.SendChunk(event);
      if (connection.WaitUntilPeerClosesFor(20)) return;
    }
    connection.SendChunk(kEndEvent);
    connection.SendChunk("");
  });
  EXPECT_EQ(Call(server).reply->message.Text(), std::string(60, 'x'));
}

TEST_F(OpenAiTest, ErrorInTheStream) {
  const Status status = FailureOf({Event(R"({"error":{"message":"overloaded"}})")});
  EXPECT_EQ(status.message(), "the model provider reported an error: overloaded");
}

TEST_F(OpenAiTest, EndlessLine) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    while (connection.SendChunk(std::string(100'000, 'x'))) {
    }
  });
  const Status status = Call(server).reply.status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_THAT(status.message(), HasSubstr("larger than 4194304 bytes"));
}

TEST_F(OpenAiTest, EndlessReply) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    while (connection.SendChunk(TextEvent(std::string(10'000, 'x')))) {
    }
  });
  options_.reply_bytes_max = 200'000;
  const Status status = Call(server).reply.status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_THAT(status.message(), HasSubstr("larger than 200000 bytes"));
}

TEST_F(OpenAiTest, SlowDripEndsAtTheDeadline) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    while (connection.SendChunk(":")) poll(nullptr, 0, 1);
  });
  ModelRequest request = Ask("hi");
  request.deadline = DeadlineAfter(milliseconds(50));
  EXPECT_EQ(Call(server, request).reply.status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(OpenAiTest, StalledStreamEndsAtTheIdleTimeout) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(TextEvent("x"));
    connection.WaitUntilPeerCloses();
  });
  options_.idle_timeout = milliseconds(20);
  const Status status = Call(server).reply.status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(), "the model provider failed: the server sent nothing for 20 ms");
}

TEST_F(OpenAiTest, CancellationClosesTheConnection) {
  const Cancellation cancellation;
  std::promise<void> closed;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(TextEvent("x"));
    cancellation.Cancel(CancelReason::kClientGone);
    connection.WaitUntilPeerCloses();
    closed.set_value();
  });
  EXPECT_EQ(Call(server, Ask("hi"), cancellation).reply.status().code(), StatusCode::kCancelled);
  closed.get_future().wait();
}

TEST_F(OpenAiTest, RefusalOfAListenerEndsTheCall) {
  std::promise<void> closed;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    while (connection.SendChunk(TextEvent("x"))) {
    }
    closed.set_value();
  });
  options_.base_url = server.url();
  auto model =
      OpenAiModel::Create(options_, std::make_shared<const net::HttpClient>(Environment()));
  const auto reply = Run([&] {
    return (*model)->Generate(Ask("hi"), {}, [](const ModelDelta&) {
      return Status(StatusCode::kUnavailable, "nobody listens");
    });
  });
  EXPECT_EQ(reply.status().message(), "nobody listens");
  closed.get_future().wait();
}

TEST_F(OpenAiTest, KeepsItsConnectionBetweenCalls) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) SendStream(connection, {TextEvent("x"), kEndEvent});
  });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Call(server).reply.ok());
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(OpenAiTest, KeepsItsKeyToItself) {
  Recovering refused(
      100, WholeReply("401 Unauthorized", R"({"error":{"message":"wrong key top-secret"}})"));
  Status status = Call(refused.server()).reply.status();
  EXPECT_EQ(status.message(), "the model provider answered HTTP 401");
  EXPECT_EQ(status.detail(), "wrong key ***; asked " +
                                 refused.server().url("/v1/chat/completions") + "; check api_key");

  Recovering echo(100, WholeReply("400 Bad", R"({"error":"key top-secret, top-secret"})"));
  status = Call(echo.server()).reply.status();
  EXPECT_EQ(status.message(), "the model provider answered HTTP 400: key ***, ***");

  EXPECT_THAT(FailureOf({Event(R"({"error":"top-secret"})")}).ToString(),
              Not(HasSubstr("top-secret")));
}

TEST_F(OpenAiTest, KeepsTheValuesOfItsHeadersToItself) {
  options_.headers = {{"Authorization", "Bearer gateway-key"}, {"X-Tenant", "tenant-key"}};
  Recovering echo(100, WholeReply("400 Bad", R"({"error":"gateway-key of tenant-key"})"));
  EXPECT_EQ(Call(echo.server()).reply.status().message(),
            "the model provider answered HTTP 400: *** of ***");
}

TEST_F(OpenAiTest, HtmlInPlaceOfAStream) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(WholeReply("200 OK\r\nContent-Type: text/html", "<h1>Sign in</h1>"));
  });
  EXPECT_EQ(Call(server).reply.status().message(), "the model provider answered with HTML");
}

TEST_F(OpenAiTest, NoServer) {
  options_.retries_max = 0;
  const Status status =
      CallAt("http://127.0.0.1:" + std::to_string(testing::ClosedPort())).reply.status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(), "the model provider failed: the server could not be connected");
}

TEST_F(OpenAiTest, AddressWithAQuery) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    SendStream(connection, {TextEvent("x"), kEndEvent});
  });
  options_.headers = {{"authorization", "Token other"}};
  EXPECT_TRUE(CallAt(server.url("/deployment/?api-version=1")).reply.ok());
  const std::string request = received.get_future().get();
  EXPECT_THAT(request, StartsWith("POST /deployment/chat/completions?api-version=1 HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("authorization: Token other\r\n"));
  EXPECT_THAT(request, Not(HasSubstr("top-secret")));
}

}  // namespace
}  // namespace agent_graph::models
