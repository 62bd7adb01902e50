// A model of provider `openai` that talks with a scripted server.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "../net/on_fiber.h"
#include "../net/resetting_server.h"
#include "../net/scripted_server.h"
#include "collect.h"
#include "models/openai.h"

namespace agent_graph::models {

using runtime::Cancellation;
using testing::Ask;
using testing::Collect;
using testing::Collected;
using testing::Connection;
using testing::ResettingServer;
using testing::ScriptedServer;

inline constexpr char kStreamHead[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

inline std::string Event(const std::string& data) {
  return "data: " + data + "\n\n";
}
inline std::string TextEvent(const std::string& text) {
  return Event(R"({"choices":[{"index":0,"delta":{"content":")" + text + "\"}}]}");
}
inline const std::string kStopEvent =
    Event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");
inline const std::string kEndEvent = Event("[DONE]");

inline void SendStream(Connection& connection, const std::vector<std::string>& events) {
  connection.Send(kStreamHead);
  for (const std::string& event : events) connection.SendChunk(event);
  connection.SendChunk("");
}

inline std::string WholeReply(const std::string& head, const std::string& body) {
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

}  // namespace agent_graph::models
