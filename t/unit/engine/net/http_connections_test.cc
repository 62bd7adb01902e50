// Connections of the HTTP client: kept, lost, and closed.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "http_client_fixture.h"
#include "net/http_client.h"
#include "resetting_server.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

using std::chrono::milliseconds;
using testing::Connection;
using testing::ScriptedServer;

TEST_P(HttpClientWaysTest, ReusesAConnection) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) connection.Send(kOk);
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(HttpClientWaysTest, ALostKeptConnectionCostsOneMoreSendOnANewOne) {
  for (const int kept : {1, 5, 20, 50}) {
    const Lost lost = CallOnDeadConnections(kept, true);
    EXPECT_TRUE(lost.status.ok()) << kept << " kept: " << lost.status.ToString();
    EXPECT_EQ(lost.requests, 2) << kept << " kept";
    EXPECT_EQ(lost.sends, 2) << kept << " kept";
  }
}

TEST_P(HttpClientWaysTest, NothingIsSentAThirdTime) {
  for (const int kept : {1, 5, 20, 50}) {
    const Lost lost = CallOnDeadConnections(kept, false);
    EXPECT_EQ(lost.status.code(), StatusCode::kUnavailable) << kept << " kept";
    EXPECT_EQ(lost.status.message(), "the server closed the connection too early");
    EXPECT_EQ(lost.requests, 2) << kept << " kept";
    EXPECT_EQ(lost.sends, 2) << kept << " kept";
  }
}

TEST_P(HttpClientWaysTest, AnUploadIsNotSentAgainAndTheNextOneWorks) {
  constexpr size_t kSize = 100'000;
  const ResettingServer server(1, true, [](const std::string&) { return kOk; });
  Run([&] {
    const auto first = Upload(Post(server.url()), kSize);
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    EXPECT_EQ(*(*first)->ReadRest(100), "hello");
    const Status lost = Upload(Post(server.url()), kSize).status();
    EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
    EXPECT_EQ(lost.message(), "the server closed the connection too early");
    EXPECT_EQ(server.later_requests(), 1);
    const auto next = Upload(Post(server.url()), kSize);
    EXPECT_TRUE(next.ok()) << next.status().ToString();
    EXPECT_EQ(server.later_requests(), 2);
  });
}

TEST_P(HttpClientWaysTest, WhatIsToBeSentOnceLeavesDeadConnectionsAlone) {
  const Lost lost =
      CallOnDeadConnections(5, true, [](HttpRequest& request) { request.once = true; });
  EXPECT_TRUE(lost.status.ok()) << lost.status.ToString();
  EXPECT_EQ(lost.requests, 1);
  EXPECT_EQ(lost.sends, 1);
}

TEST_P(HttpClientWaysTest, ANewConnectionThatIsLostIsNotReplaced) {
  const Lost lost = CallOnDeadConnections(0, false);
  EXPECT_EQ(lost.status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(lost.requests, 1);
  EXPECT_EQ(lost.sends, 1);
}

// libcurl by itself would send it again on a kept connection.
TEST_P(HttpClientWaysTest, WhatIsToBeSentOnceIsNotRepeated) {
  std::atomic<int> requests{0};
  ScriptedServer server([&](Connection& connection) {
    if (!connection.ReadRequest()) return;
    ++requests;
    connection.Send(kOk);
    if (connection.ReadRequest()) ++requests;  // executed but not answered
  });
  HttpRequest once = Post(server.url());
  once.once = true;
  EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*Fetch(once), "hello");
  EXPECT_EQ(requests, 4);

  ScriptedServer failing([&](Connection& connection) {
    if (connection.ReadRequest()) ++requests;
  });
  once.url = failing.url();
  EXPECT_EQ(Fetch(once).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(requests, 5);
}

TEST_P(HttpClientWaysTest, DrainedCallLeavesItsConnectionReusable) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) connection.Send(kOk);
  });
  Run([&] {
    auto call = client_.Start(Post(server.url()), {});
    ASSERT_TRUE((*call)->ReadHead().ok());
    (*call)->Drain(milliseconds(10'000));
  });
  EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(HttpClientWaysTest, DestroyedCallClosesItsConnection) {
  std::promise<void> closed;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    connection.SendChunk("one");
    connection.WaitUntilPeerCloses();
    closed.set_value();
  });
  Run([&] {
    auto call = client_.Start(Post(server.url()), {});
    EXPECT_EQ(*(*call)->Read(), "one");
  });
  closed.get_future().wait();
}

TEST_P(HttpClientWaysTest, ManyCallsAtOnce) {
  constexpr int kCalls = 50;
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) connection.Send(kOk);
  });
  std::vector<std::promise<Result<std::string>>> results(kCalls);
  for (auto& result : results) {
    runtime_.Spawn([&] {
      auto call = client_.Start(Post(server.url()), {});
      result.set_value((*call)->ReadRest(100));
    });
  }
  for (auto& result : results) EXPECT_EQ(*result.get_future().get(), "hello");
}

}  // namespace
}  // namespace agent_graph::net
