// Faults and limits that every HTTP provider must handle, tested in each provider's format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "../net/on_fiber.h"
#include "../net/scripted_server.h"
#include "agent_graph/json.h"
#include "collect.h"
#include "models/registry.h"

namespace agent_graph::models {
namespace {

using testing::Ask;
using testing::Collect;
using testing::Collected;
using testing::Connection;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScriptedServer;
using ::testing::StartsWith;

constexpr char kKey[] = "top-secret";
constexpr char kStreamHead[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string Event(const std::string& data) {
  return "data: " + data + "\n\n";
}
std::string Json(const std::string& text) {
  return json(text).dump();
}

struct Dialect {
  const char* provider;
  const char* request_line;  // for a server at /v1
  const char* key_header;
  std::vector<std::string> begin;  // events before the first text delta
  std::function<std::string(const std::string&)> text;
  std::vector<std::string> end;
  const char* passing_error;
  const char* lasting_error;
  const char* whole;  // the reply "Hello" without streaming
  const char* model;  // sent to this model's stream endpoint
};

// Name in the output of failed tests.
void PrintTo(const Dialect& dialect, std::ostream* out) {
  *out << dialect.provider;
}

std::string OpenAiText(const std::string& text) {
  return Event(R"({"choices":[{"index":0,"delta":{"content":)" + Json(text) + "}}]}");
}
std::string AnthropicText(const std::string& text) {
  return "event: content_block_delta\n" +
         Event(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":)" +
               Json(text) + "}}");
}
std::string GeminiText(const std::string& text) {
  return Event(R"({"candidates":[{"content":{"role":"model","parts":[{"text":)" + Json(text) +
               R"(}]},"index":0}],"modelVersion":"m-1"})");
}

const Dialect kOpenAi = {
    .provider = "openai",
    .request_line = "POST /v1/chat/completions HTTP/1.1\r\n",
    .key_header = "Authorization: Bearer top-secret\r\n",
    .begin = {},
    .text = OpenAiText,
    .end = {Event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"),
            Event("[DONE]")},
    .passing_error = R"({"error":{"message":"busy","code":503}})",
    .lasting_error = R"({"error":{"message":"busy","type":"invalid_request_error"}})",
    .whole = R"({"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]})",
    .model = "small",
};
const Dialect kAnthropic = {
    .provider = "anthropic",
    .request_line = "POST /v1/messages HTTP/1.1\r\n",
    .key_header = "x-api-key: top-secret\r\n",
    .begin = {"event: message_start\n" +
                  Event(R"({"type":"message_start","message":{"model":"m-1","content":[]}})"),
              Event(R"({"type":"ping"})"),
              Event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text"}})")},
    .text = AnthropicText,
    .end = {Event(R"({"type":"content_block_stop","index":0})"),
            Event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})"),
            Event(R"({"type":"message_stop"})")},
    .passing_error = R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})",
    .lasting_error =
        R"({"type":"error","error":{"type":"invalid_request_error","message":"busy"}})",
    .whole = R"({"type":"message","model":"m-1","content":[{"type":"text","text":"Hello"}],
                 "stop_reason":"end_turn"})",
    .model = "m-1",
};
const Dialect kGemini = {
    .provider = "gemini",
    .request_line = "POST /v1/models/small:streamGenerateContent?alt=sse HTTP/1.1\r\n",
    .key_header = "x-goog-api-key: top-secret\r\n",
    .begin = {},
    .text = GeminiText,
    .end = {Event(R"({"candidates":[{"finishReason":"STOP","index":0}]})")},
    .passing_error = R"({"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}})",
    .lasting_error = R"({"error":{"code":400,"message":"busy","status":"INVALID_ARGUMENT"}})",
    .whole = R"({"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]})",
    .model = "m-1",
};

std::string Joined(const std::vector<std::string>& events) {
  std::string all;
  for (const std::string& event : events) all += event;
  return all;
}

void SendStream(Connection& connection, const std::vector<std::string>& pieces) {
  connection.Send(kStreamHead);
  for (const std::string& piece : pieces) {
    if (!piece.empty()) connection.SendChunk(piece);
  }
  connection.SendChunk("");
}

std::string WholeReply(const std::string& head, const std::string& body) {
  return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

class DialectTest : public testing::OnFiber, public ::testing::WithParamInterface<Dialect> {
 protected:
  Collected Call(const ScriptedServer& server, const std::string& path = "/v1") {
    options_.base_url = server.url(path);
    const auto registry = Registry::Create({options_}, {});
    EXPECT_TRUE(registry.ok()) << registry.status().ToString();
    return Run([&] { return Collect(*(*registry)->Find("m"), Ask("hi")); });
  }

  // The parts of a valid reply.
  std::string Begin() const { return Joined(GetParam().begin); }
  std::string Text(const std::string& text) const { return GetParam().text(text); }
  std::string End() const { return Joined(GetParam().end); }

  // The error of a call if every reply consists of these pieces.
  Status FailureOf(const std::vector<std::string>& pieces, int attempts = 1) {
    std::atomic<int> requests = 0;
    ScriptedServer server([&](Connection& connection) {
      while (connection.ReadRequest()) {
        ++requests;
        SendStream(connection, pieces);
      }
    });
    const Status status = Call(server).reply.status();
    EXPECT_EQ(requests, attempts);
    return status;
  }

  ProviderOptions options_ = [] {
    ProviderOptions options;
    options.name = "m";
    options.provider = GetParam().provider;
    options.model = "small";
    options.api_key = kKey;
    options.retries_max = 1;
    return options;
  }();
};

INSTANTIATE_TEST_SUITE_P(Providers, DialectTest, ::testing::Values(kOpenAi, kAnthropic, kGemini),
                         [](const auto& one) { return std::string(one.param.provider); });

TEST_P(DialectTest, StreamsAReply) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    SendStream(connection, {Begin(), Text("Hel"), ": keep-alive\n\n", Text("lo"), End()});
  });
  options_.headers = {{"X-Team", "blue"}};
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_THAT(got.texts, ElementsAre("Hel", "lo"));
  EXPECT_EQ(got.reply->message.Text(), "Hello");
  EXPECT_EQ(got.reply->stop_reason, "stop");
  EXPECT_EQ(got.reply->model, GetParam().model);
  const std::string request = received.get_future().get();
  EXPECT_THAT(request, StartsWith(GetParam().request_line));
  EXPECT_THAT(request, HasSubstr(GetParam().key_header));
  EXPECT_THAT(request, HasSubstr("X-Team: blue\r\n"));
}

TEST_P(DialectTest, RefusesToAskNothing) {
  ScriptedServer server([](Connection& connection) { connection.ReadRequest(); });
  options_.base_url = server.url("/v1");
  const auto registry = Registry::Create({options_}, {});
  ASSERT_TRUE(registry.ok()) << registry.status().ToString();
  const Status refused = Run([&] { return Collect(*(*registry)->Find("m"), {}); }).reply.status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << refused.ToString();
}

TEST_P(DialectTest, StreamCutIntoBytes) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    for (const char byte : Begin() + Text("a\xe2\x82\xac") + End()) {
      connection.SendChunk(std::string(1, byte));
    }
    connection.SendChunk("");
  });
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_EQ(got.reply->message.Text(), "a\xe2\x82\xac");
}

// Providers send inline images and signatures of long reasoning in a single event.
TEST_P(DialectTest, AnEventMayBeAsLargeAsTheReply) {
  const std::string text(3 * 1024 * 1024, 'x');
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) {
      SendStream(connection, {Begin(), Text(text), End()});
    }
  });
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_EQ(got.reply->message.Text(), text);

  options_.reply_bytes_max = 2 * 1024 * 1024;
  const Status status = Call(server).reply.status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_THAT(status.message(), HasSubstr("larger than 2097152 bytes"));
}

TEST_P(DialectTest, ReadsOneJsonDocument) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(WholeReply("200 OK\r\nContent-Type: application/json", GetParam().whole));
  });
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_EQ(got.reply->message.Text(), "Hello");
  EXPECT_THAT(got.texts, ElementsAre("Hello"));
}

TEST_P(DialectTest, ReusesItsConnection) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) SendStream(connection, {Begin(), Text("x"), End()});
  });
  options_.base_url = server.url("/v1");
  const auto registry = Registry::Create({options_}, {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Run([&] { return Collect(*(*registry)->Find("m"), Ask("hi")); }).reply.ok());
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(DialectTest, CutStreams) {
  for (const std::string& last : {Text("x"), Text("x") + "data: {\"typ", Text("x").substr(0, 20)}) {
    const Status status = FailureOf({Begin(), Text("y"), last});
    EXPECT_EQ(status.code(), StatusCode::kModel);
    EXPECT_EQ(status.message(), "the model provider's reply broke off before its end");
  }
  EXPECT_EQ(FailureOf({}).message(), "the model provider's reply is empty");
}

TEST_P(DialectTest, ConnectionLostInTheMiddle) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    connection.SendChunk(Begin() + Text("x"));
  });
  EXPECT_EQ(Call(server).reply.status().message(),
            "the model provider failed: the server closed the connection too early");
  EXPECT_EQ(server.connections(), 1) << "no second attempt after the first piece";
}

TEST_P(DialectTest, ConnectionLostAfterTheReasonToStop) {
  const std::vector<std::string>& end = GetParam().end;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kStreamHead);
    // Without the end marker, if the format has one.
    connection.SendChunk(Begin() + Text("x") +
                         (end.size() > 1 ? Joined({end.begin(), end.end() - 1}) : end[0]));
  });
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_EQ(got.reply->message.Text(), "x");
}

TEST_P(DialectTest, MalformedEvents) {
  for (const char* data : {"{\"a\":[", "nonsense", "[]", "7", "{} {}"}) {
    EXPECT_EQ(FailureOf({Begin(), Text("x"), Event(data), End()}).message(),
              "the model provider sent a malformed chunk")
        << data;
  }
}

TEST_P(DialectTest, EventsOfOtherKindsAndTypes) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    SendStream(connection, {Begin(), "event: news\nid: 7\nretry: 1\n\n", Event("{}"),
                            Event(R"({"type":"news","candidates":7,"choices":null})"),
                            Event(R"({"type":7,"candidates":[7],"choices":[7],"usage":[]})"),
                            Text("x"), End()});
  });
  const Collected got = Call(server);
  ASSERT_TRUE(got.reply.ok()) << got.reply.status().ToString();
  EXPECT_EQ(got.reply->message.Text(), "x");
}

TEST_P(DialectTest, TransientErrorAtTheBeginningIsRetried) {
  EXPECT_EQ(FailureOf({Event(GetParam().passing_error)}, 2).message(),
            "the model provider reported an error: busy");
  EXPECT_EQ(FailureOf({Event(GetParam().lasting_error)}).message(),
            "the model provider reported an error: busy");
  EXPECT_EQ(FailureOf({Begin(), Text("x"), Event(GetParam().passing_error)}).message(),
            "the model provider reported an error: busy");
}

TEST_P(DialectTest, RefusalIsRetriedAndReported) {
  for (const char* head : {"429 Slow down", "503 Busy", "529 Overloaded"}) {
    std::atomic<int> requests = 0;
    ScriptedServer server([&](Connection& connection) {
      while (connection.ReadRequest()) {
        ++requests;
        connection.Send(
            WholeReply(std::string(head) + "\r\nRetry-After: 0", GetParam().lasting_error));
      }
    });
    EXPECT_THAT(Call(server).reply.status().message(),
                ::testing::AllOf(StartsWith("the model provider answered HTTP "),
                                 ::testing::EndsWith(": busy")));
    EXPECT_EQ(requests, 2) << head;
  }
}

TEST_P(DialectTest, KeepsItsKeyToItself) {
  for (const char* head : {"400 Bad", "401 Unauthorized"}) {
    ScriptedServer server([&](Connection& connection) {
      connection.ReadRequest();
      connection.Send(WholeReply(head, R"({"error":{"message":"not top-secret"}})"));
    });
    EXPECT_THAT(Call(server).reply.status().ToString(), Not(HasSubstr(kKey)));
  }
  EXPECT_THAT(FailureOf({Event(R"({"error":{"message":"not top-secret"}})")}).ToString(),
              Not(HasSubstr(kKey)));
}

TEST_P(DialectTest, OwnHeaderBeatsTheKey) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    SendStream(connection, {Begin(), Text("x"), End()});
  });
  const std::string header = GetParam().key_header;
  options_.headers = {{header.substr(0, header.find(':')), "other"}};
  EXPECT_TRUE(Call(server, "/v1/?tenant=7").reply.ok());
  const std::string request = received.get_future().get();
  EXPECT_THAT(request, Not(HasSubstr(kKey)));
  EXPECT_THAT(request, HasSubstr("?tenant=7"));
}

}  // namespace
}  // namespace agent_graph::models
