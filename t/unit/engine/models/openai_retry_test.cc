// Retries of calls: their reasons, their number, their pauses.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>

#include "../net/resetting_server.h"
#include "../net/scripted_server.h"
#include "../net/tls_server.h"
#include "agent_graph/json.h"
#include "collect.h"
#include "models/openai.h"
#include "openai_fixture.h"

namespace agent_graph::models {
namespace {

using runtime::CancelReason;
using std::chrono::milliseconds;
using testing::Chunk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
    std::promise<std::string> bodies[2];
    ScriptedServer server([&](Connection& connection) {
      const std::optional<std::string> request = connection.ReadRequest();
      if (!request) return;
      const int number = requests++;
      bodies[number].set_value(request->substr(request->find("\r\n\r\n")));
      if (number == 0) {
        connection.Send(begun);
      } else {
        SendStream(connection, {TextEvent("x"), kStopEvent, kEndEvent});
      }
    });
    const Collected got = Call(server);
    EXPECT_TRUE(got.reply.ok()) << begun << got.reply.status().ToString();
    EXPECT_THAT(got.texts, ElementsAre("x"));
    ASSERT_EQ(requests, 2);
    const std::string body = bodies[0].get_future().get();
    EXPECT_NE(body.find("hi"), std::string::npos);
    EXPECT_EQ(bodies[1].get_future().get(), body);
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

TEST_F(OpenAiTest, FailsWhileTheCertificateIsRefused) {
  const testing::TlsServer provider("http/1.1", [](SSL*) {});
  options_.base_url = provider.url("/v1");
  const auto model =
      OpenAiModel::Create(options_, std::make_shared<const net::HttpClient>(Environment()));
  for (uint32_t i = 0; i < Circuit::kFailuresMax; ++i) {
    EXPECT_FALSE((*model)->failing());
    const Status status = Run([&] { return Collect(**model, Ask("hi"), {}); }).reply.status();
    EXPECT_EQ(status.code(), StatusCode::kModel);
    EXPECT_THAT(status.message(), HasSubstr("certificate"));
  }
  EXPECT_TRUE((*model)->failing());
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

}  // namespace
}  // namespace agent_graph::models
