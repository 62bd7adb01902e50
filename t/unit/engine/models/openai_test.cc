#include "models/openai.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "../net/on_fiber.h"
#include "../net/resetting_server.h"
#include "../net/scripted_server.h"
#include "agent_graph/json.h"
#include "collect.h"

namespace agent_graph::models {
namespace {

using runtime::Cancellation;
using runtime::CancelReason;
using std::chrono::milliseconds;
using testing::Ask;
using testing::Chunk;
using testing::Collect;
using testing::Collected;
using testing::Connection;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ResettingServer;
using testing::ScriptedServer;
using ::testing::StartsWith;

constexpr char kStreamHead[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string Event(const std::string& data) {
  return "data: " + data + "\n\n";
}
std::string TextEvent(const std::string& text) {
  return Event(R"({"choices":[{"index":0,"delta":{"content":")" + text + "\"}}]}");
}
const std::string kStopEvent =
    Event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");
const std::string kEndEvent = Event("[DONE]");

void SendStream(Connection& connection, const std::vector<std::string>& events) {
  connection.Send(kStreamHead);
  for (const std::string& event : events) connection.SendChunk(event);
  connection.SendChunk("");
}

std::string WholeReply(const std::string& head, const std::string& body) {
  return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

class OpenAiTest : public testing::OnFiber {
 protected:
  Collected Call(const ScriptedServer& server, const ModelRequest& request = Ask("hi"),
                 const Cancellation& cancellation = {}) {
    return CallAt(server.url("/v1"), request, cancellation);
  }

  Collected CallAt(const std::string& base_url, const ModelRequest& request = Ask("hi"),
                   const Cancellation& cancellation = {}) {
    options_.base_url = base_url;
    auto model =
        OpenAiModel::Create(options_, std::make_shared<const net::HttpClient>(Environment()));
    EXPECT_TRUE(model.ok());
    return Run([&] { return Collect(**model, request, cancellation); });
  }

  // Calls the model after `kept` connections to the provider were opened and kept.
  Collected CallAfterKeeping(const ResettingServer& provider, int kept) {
    options_.base_url = provider.url("/v1");
    auto model =
        OpenAiModel::Create(options_, std::make_shared<const net::HttpClient>(Environment()));
    EXPECT_TRUE(model.ok());
    const net::HttpClient client{Environment()};
    return Run([&] {
      std::vector<std::unique_ptr<net::HttpCall>> calls;
      for (int i = 0; i < kept; ++i) {
        net::HttpRequest request;
        request.url = provider.url();
        calls.push_back(*client.Start(request, {}));
      }
      for (const auto& call : calls) EXPECT_TRUE(call->ReadRest(1000).ok());
      calls.clear();
      return Collect(**model, Ask("hi"), {});
    });
  }

  // The error of a call if every reply consists of `events`.
  Status FailureOf(const std::vector<std::string>& events) {
    ScriptedServer server([&](Connection& connection) {
      while (connection.ReadRequest()) SendStream(connection, events);
    });
    const Status status = Call(server).reply.status();
    EXPECT_EQ(server.connections(), 1);
    return status;
  }

  ProviderOptions options_ = [] {
    ProviderOptions options;
    options.model = "small";
    options.api_key = "top-secret";
    return options;
  }();
};

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

// Answers the first `failures` requests with `refusal` and the next one with a stream.
class Recovering {
 public:
  Recovering(int failures, std::string refusal)
      : failures_(failures), refusal_(std::move(refusal)), server_([this](Connection& connection) {
          while (connection.ReadRequest()) {
            if (++requests_ > failures_) {
              SendStream(connection, {TextEvent("x"), kStopEvent, kEndEvent});
            } else if (refusal_.empty()) {
              return;
            } else {
              connection.Send(refusal_);
            }
          }
        }) {}

  const ScriptedServer& server() const { return server_; }
  int requests() const { return requests_; }

 private:
  const int failures_;
  const std::string refusal_;
  std::atomic<int> requests_{0};
  ScriptedServer server_;
};

TEST_F(OpenAiTest, RepeatsAfterRateLimit) {
  Recovering provider(2, WholeReply("429 Too Many Requests\r\nRetry-After: 0", "{}"));
  EXPECT_TRUE(Call(provider.server()).reply.ok());
  EXPECT_EQ(provider.requests(), 3);
}

TEST_F(OpenAiTest, RepeatsAfterServerErrorWithBackoff) {
  Recovering provider(1, WholeReply("500 Oops\r\nContent-Type: text/html", "<h1>Oops</h1>"));
  EXPECT_TRUE(Call(provider.server()).reply.ok());
  EXPECT_EQ(provider.requests(), 2);
}

TEST_F(OpenAiTest, RepeatsAfterALostConnection) {
  Recovering provider(1, "");
  EXPECT_TRUE(Call(provider.server()).reply.ok());
  EXPECT_EQ(provider.requests(), 2);
}

TEST_F(OpenAiTest, RepeatsWhenTheReplyIsLostBeforeItsFirstPiece) {
  const std::string role = Event(R"({"choices":[{"index":0,"delta":{"role":"assistant"}}]})");
  const std::string document = WholeReply("200 OK\r\nContent-Type: application/json", "{}");
  for (const std::string& begun : {std::string(kStreamHead), kStreamHead + Chunk(role),
                                   document.substr(0, document.size() - 1)}) {
    std::atomic<int> requests{0};
    ScriptedServer server([&](Connection& connection) {
      if (!connection.ReadRequest()) return;
      if (++requests == 1) {
        connection.Send(begun);
      } else {
        SendStream(connection, {TextEvent("x"), kStopEvent, kEndEvent});
      }
    });
    const Collected got = Call(server);
    EXPECT_TRUE(got.reply.ok()) << begun << got.reply.status().ToString();
    EXPECT_THAT(got.texts, ElementsAre("x"));
    EXPECT_EQ(requests, 2);
  }
}

// A user whose requests are refused must not make the provider look broken.
TEST_F(OpenAiTest, FailsWhileTheProviderDoesNotWork) {
  for (auto [answer, failing] : {std::pair("503 Busy", true), {"400 Too long", false}}) {
    Recovering provider(Circuit::kFailuresMax, WholeReply(answer, "{}"));
    options_.base_url = provider.server().url("/v1");
    options_.retries_max = 0;
    const auto model =
        OpenAiModel::Create(options_, std::make_shared<const net::HttpClient>(Environment()));
    auto call = [&] { return Run([&] { return Collect(**model, Ask("hi"), {}); }).reply.ok(); };
    for (uint32_t i = 0; i < Circuit::kFailuresMax; ++i) EXPECT_FALSE(call());
    EXPECT_EQ((*model)->failing(), failing) << answer;
    EXPECT_TRUE(call());
    EXPECT_FALSE((*model)->failing());
  }
}

TEST_F(OpenAiTest, GivesUpAfterItsAttempts) {
  Recovering provider(100, WholeReply("503 Busy\r\nRetry-After: 0\r\nContent-Type: text/html",
                                      "<html><h1>Busy</h1></html>"));
  options_.retries_max = 3;
  const Status status = Call(provider.server()).reply.status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(), "the model provider answered HTTP 503");
  EXPECT_EQ(provider.requests(), 4);
}

// Each request may cost money, so repeats by any layer count as retries.
TEST_F(OpenAiTest, SendsAgainAfterTheLossOfKeptConnectionsAreRetries) {
  for (const int kept : {1, 5, 20}) {
    for (const int retries : {0, 1, 2}) {
      for (const bool new_ones_work : {true, false}) {
        ResettingServer provider(kept, new_ones_work, [](const std::string&) {
          return kStreamHead + Chunk(TextEvent("x")) + Chunk(kStopEvent) + Chunk(kEndEvent) +
                 Chunk("");
        });
        options_.retries_max = retries;
        const Collected got = CallAfterKeeping(provider, kept);
        const std::string shown = std::to_string(kept) + " kept, " + std::to_string(retries) +
                                  " retries: " + got.reply.status().ToString();
        EXPECT_EQ(got.reply.ok(), new_ones_work) << shown;
        const int expected = new_ones_work ? std::min(retries, 1) + 1 : retries + 1;
        EXPECT_EQ(provider.later_requests(), expected) << shown;
      }
    }
  }
}

TEST_F(OpenAiTest, KeepsItsConnectionBetweenCalls) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) SendStream(connection, {TextEvent("x"), kEndEvent});
  });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Call(server).reply.ok());
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(OpenAiTest, DoesNotWaitPastTheDeadlineNorTooLong) {
  Recovering provider(100, WholeReply("429 Slow down\r\nRetry-After: 3600",
                                      R"({"error":{"message":"slow down"}})"));
  EXPECT_EQ(Call(provider.server()).reply.status().message(),
            "the model provider answered HTTP 429: slow down");
  EXPECT_EQ(provider.requests(), 1);

  Recovering soon(100, WholeReply("429 Slow down\r\nRetry-After: 30", "{}"));
  ModelRequest request = Ask("hi");
  request.deadline = DeadlineAfter(milliseconds(20'000));
  EXPECT_EQ(Call(soon.server(), request).reply.status().code(), StatusCode::kModel);
  EXPECT_EQ(soon.requests(), 1);
}

TEST_F(OpenAiTest, DoesNotRepeatWhatCannotWork) {
  Recovering provider(100, WholeReply("400 Bad Request\r\nContent-Type: application/json",
                                      R"({"error":{"message":"no such\nmodel"}})"));
  const Status status = Call(provider.server()).reply.status();
  EXPECT_EQ(status.message(), "the model provider answered HTTP 400: no such model");
  EXPECT_EQ(provider.requests(), 1);
}

TEST_F(OpenAiTest, KeepsItsKeyToItself) {
  Recovering refused(
      100, WholeReply("401 Unauthorized", R"({"error":{"message":"wrong key top-secret"}})"));
  Status status = Call(refused.server()).reply.status();
  EXPECT_EQ(status.message(), "the model provider answered HTTP 401");
  EXPECT_EQ(status.detail(), "wrong key ***");

  Recovering echo(100, WholeReply("400 Bad", R"({"error":"key top-secret, top-secret"})"));
  status = Call(echo.server()).reply.status();
  EXPECT_EQ(status.message(), "the model provider answered HTTP 400: key ***, ***");

  EXPECT_THAT(FailureOf({Event(R"({"error":"top-secret"})")}).ToString(),
              Not(HasSubstr("top-secret")));
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

TEST_F(OpenAiTest, CancelledWhileItWaitsToRepeat) {
  const Cancellation cancellation;
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) {
      connection.Send(WholeReply("429 Slow down\r\nRetry-After: 30", "{}"));
      cancellation.Cancel(CancelReason::kShutdown);
    }
  });
  EXPECT_EQ(Call(server, Ask("hi"), cancellation).reply.status().code(), StatusCode::kCancelled);
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
