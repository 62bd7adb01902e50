#include "net/redis.h"

#include <gtest/gtest.h>

#include "on_fiber.h"
#include "redis_server.h"
#include "runtime/signal.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

using testing::Connection;
using testing::RedisServer;
using testing::ScriptedServer;
using Type = RedisReply::Type;

TEST(RedisUrl, NamesAHostOrASocket) {
  RedisEndpoint endpoint = ParseRedisUrl("redis://cache.example").value();
  EXPECT_EQ(endpoint.host, "cache.example");
  EXPECT_EQ(endpoint.port, 6379);
  EXPECT_EQ(endpoint.database, 0);
  endpoint = ParseRedisUrl("redis://alice:p%40ss:w@[::1]:7000/3").value();
  EXPECT_EQ(endpoint.host, "::1");
  EXPECT_EQ(endpoint.port, 7000);
  EXPECT_EQ(endpoint.user, "alice");
  EXPECT_EQ(endpoint.password, "p@ss:w");
  EXPECT_EQ(endpoint.database, 3);
  endpoint = ParseRedisUrl("redis://:secret@h/").value();
  EXPECT_EQ(endpoint.user, "");
  EXPECT_EQ(endpoint.password, "secret");
  endpoint = ParseRedisUrl("unix:///run/redis%20one.sock?db=2").value();
  EXPECT_EQ(endpoint.host, "");
  EXPECT_EQ(endpoint.socket_path, "/run/redis one.sock");
  EXPECT_EQ(endpoint.database, 2);
}

TEST(RedisUrl, SaysHowLongAnAnswerMayTake) {
  using std::chrono::milliseconds;
  EXPECT_EQ(ParseRedisUrl("redis://h")->timeout, std::nullopt);
  EXPECT_EQ(ParseRedisUrl("redis://h?timeout_ms=1")->timeout, milliseconds(1));
  RedisEndpoint endpoint = ParseRedisUrl("redis://:p%3Fq@h:7000/3?timeout_ms=60000").value();
  EXPECT_EQ(endpoint.timeout, milliseconds(60'000));
  EXPECT_EQ(endpoint.database, 3);
  EXPECT_EQ(endpoint.password, "p?q");
  for (const char* url : {"unix:///r?db=2&timeout_ms=500", "unix:///r?timeout_ms=500&db=2"}) {
    endpoint = ParseRedisUrl(url).value();
    EXPECT_EQ(endpoint.timeout, milliseconds(500)) << url;
    EXPECT_EQ(endpoint.database, 2) << url;
    EXPECT_EQ(endpoint.socket_path, "/r") << url;
  }
}

TEST(RedisUrl, RefusesWhatItDoesNotKnow) {
  for (const char* url : {"",
                          "cache.example",
                          "http://h",
                          "rediss://h",
                          "redis://",
                          "redis://:6379",
                          "redis://h:0",
                          "redis://h:99999",
                          "redis://h:x",
                          "redis://h/x",
                          "redis://h/-1",
                          "redis://h?x=1",
                          "redis://secret@h",
                          "redis://:s%zz@h",
                          "redis://[::1",
                          "redis://[::1]x",
                          "unix://run/r",
                          "unix:///r?x=1",
                          "redis://h?",
                          "redis://h?db=1",
                          "redis://h?timeout_ms=0",
                          "redis://h?timeout_ms=60001",
                          "redis://h?timeout_ms=",
                          "redis://h?timeout_ms=1s",
                          "redis://h?timeout_ms=1&",
                          "unix:///r?db=1&x=1"}) {
    Result<RedisEndpoint> endpoint = ParseRedisUrl(url);
    EXPECT_FALSE(endpoint.ok()) << url;
    EXPECT_EQ(endpoint.status().message().find("secret"), std::string::npos) << url;
  }
}

// Limits of a call that does not wait for a connection.
constexpr RedisTimeouts kAtOnce{.server = std::chrono::minutes(2)};
constexpr RedisTimeouts kInTurn{.connection = std::chrono::minutes(2),
                                .server = std::chrono::minutes(2)};

class RedisTest : public testing::OnFiber {
 protected:
  Result<RedisReply> Call(RedisClient& client, const std::vector<std::string>& arguments,
                          RedisTimeouts timeouts = kAtOnce) {
    return Run([&] { return client.Call(arguments, timeouts); });
  }
  static RedisEndpoint Endpoint(const std::string& url) { return ParseRedisUrl(url).value(); }
  static RedisEndpoint Endpoint(const ScriptedServer& server) {
    RedisEndpoint endpoint;
    endpoint.host = "127.0.0.1";
    endpoint.port = static_cast<uint16_t>(server.port());
    return endpoint;
  }
};

TEST_F(RedisTest, CarriesAnyBytesThereAndBack) {
  RedisServer server;
  RedisClient client(Endpoint(server.Url()));
  std::string value("a\r\n\0b \"$3\"", 11);
  EXPECT_EQ(Call(client, {"SET", "key", value})->text, "OK");
  EXPECT_EQ(Call(client, {"GET", "key"})->text, value);
  EXPECT_EQ(Call(client, {"GET", "none"})->type, Type::kNil);
  EXPECT_EQ(Call(client, {"DEL", "key", "none"})->integer, 1);
  EXPECT_EQ(Call(client, {"NONSENSE"})->type, Type::kError);
  RedisReply list = Call(client, {"EVAL", "return {1, 'two', {3}}", "0"}).value();
  ASSERT_EQ(list.elements.size(), 3u);
  EXPECT_EQ(list.elements[1].text, "two");
  EXPECT_EQ(list.elements[2].elements[0].integer, 3);
}

TEST_F(RedisTest, LogsInAndSelectsADatabase) {
  RedisServer server(RedisServer::NewSocketPath(), {"--requirepass", "pass word"});
  RedisClient client(Endpoint("unix://:pass%20word@" + server.socket_path() + "?db=3"));
  EXPECT_EQ(Call(client, {"SET", "k", "v"})->text, "OK");
  RedisClient other(Endpoint("unix://:pass%20word@" + server.socket_path()));
  EXPECT_EQ(Call(other, {"GET", "k"})->type, Type::kNil);
  RedisClient stranger(Endpoint("unix://:wrong@" + server.socket_path()));
  Status refused = Call(stranger, {"GET", "k"}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_EQ(refused.ToString().find("wrong@"), std::string::npos);
}

TEST_F(RedisTest, ServesManyFibersAtOnce) {
  RedisServer server;
  RedisClient client(Endpoint(server.Url()));
  constexpr int kFibers = 20 * static_cast<int>(kRedisConnectionsMax);
  std::vector<runtime::Promise<bool>> done(kFibers);
  for (int i = 0; i < kFibers; ++i) {
    runtime_.Spawn([&client, promise = done[i], i] {
      bool right = true;
      for (int round = 0; round < 5 && right; ++round) {
        std::string value = std::to_string(i) + "/" + std::to_string(round);
        right = client.Call({"SET", std::to_string(i), value}, kInTurn).ok() &&
                client.Call({"GET", std::to_string(i)}, kInTurn)->text == value;
      }
      promise.Set(right);
    });
  }
  for (auto& promise : done) EXPECT_TRUE(promise.Wait(nullptr, kNoDeadline).value());
}

TEST_F(RedisTest, ComesBackAfterARestart) {
  std::string path = RedisServer::NewSocketPath();
  RedisClient client(Endpoint("unix://" + path));
  EXPECT_EQ(Call(client, {"PING"}).status().code(), StatusCode::kUnavailable);
  {
    RedisServer server(path);
    EXPECT_TRUE(Call(client, {"PING"}).ok());
  }
  EXPECT_EQ(Call(client, {"PING"}).status().code(), StatusCode::kUnavailable);
  RedisServer server(path);
  EXPECT_TRUE(Call(client, {"PING"}).ok());
}

TEST_F(RedisTest, AServerThatHangsCostsOneDeadline) {
  RedisServer server;
  RedisClient client(Endpoint(server.Url()));
  EXPECT_TRUE(Call(client, {"PING"}).ok());
  server.Hang();
  const RedisTimeouts brief{.server = std::chrono::milliseconds(20)};
  EXPECT_EQ(Call(client, {"PING"}, brief).status().code(), StatusCode::kDeadlineExceeded);
  server.GoOn();
  EXPECT_TRUE(Call(client, {"PING"}).ok()) << "the late answer belongs to nobody";
}

// Its connections stay open, and nothing answers on them any more.
TEST_F(RedisTest, AServerThatWasReplacedFailsOneCall) {
  RedisServer before;
  RedisClient client(Endpoint(before.Url()));
  before.Hang();
  constexpr size_t kConnections = 5;
  std::vector<runtime::Promise<bool>> served(kConnections);
  Run([&] {
    for (const runtime::Promise<bool>& promise : served) {
      runtime_.Spawn([&client, promise] { promise.Set(client.Call({"PING"}, kAtOnce).ok()); },
                     true);
    }
  });
  before.GoOn();
  for (auto& promise : served) EXPECT_TRUE(promise.Wait(nullptr, kNoDeadline).value());
  before.Hang();
  const RedisServer after(before.socket_path());
  const RedisTimeouts brief{.server = std::chrono::milliseconds(20)};
  EXPECT_EQ(Call(client, {"PING"}, brief).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Call(client, {"PING"}).ok()) << "the other connections are not tried";
}

// A failover through DNS: the server becomes a replica and stays connected.
TEST_F(RedisTest, AServerThatBecameAReplicaIsLeft) {
  RedisServer before;
  RedisClient client(Endpoint(before.Url()));
  EXPECT_EQ(Call(client, {"REPLICAOF", "127.0.0.1", "1"})->text, "OK");
  const RedisServer after(before.socket_path());
  const std::vector<std::string> script = {"EVAL", "return redis.call('SET', 'k', 'v')", "0"};
  const RedisReply refused = Call(client, script).value();
  EXPECT_EQ(refused.type, Type::kError);
  EXPECT_NE(refused.text.find("READONLY"), std::string::npos) << refused.text;
  EXPECT_EQ(Call(client, script)->text, "OK");
}

TEST_F(RedisTest, RefusesAtTheBoundOfConnections) {
  RedisServer server;
  RedisClient client(Endpoint(server.Url()));
  server.Hang();
  std::vector<runtime::Promise<bool>> served(kRedisConnectionsMax);
  Status refused = Run([&] {
    for (const runtime::Promise<bool>& promise : served) {
      runtime_.Spawn([&client, promise] { promise.Set(client.Call({"PING"}, kAtOnce).ok()); },
                     true);
    }
    // The others get their turn while this fiber sleeps, and wait for the server.
    EXPECT_TRUE(runtime::SleepFor(std::chrono::milliseconds(1), nullptr).ok());
    return client.Call({"PING"}, kAtOnce).status();
  });
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  server.GoOn();
  for (auto& promise : served) EXPECT_TRUE(promise.Wait(nullptr, kNoDeadline).value());
}

TEST_F(RedisTest, AServerThatFailsOneFailsThoseWhoWait) {
  RedisServer server;
  RedisClient client(Endpoint(server.Url()));
  server.Hang();
  const RedisTimeouts brief{.server = std::chrono::milliseconds(20)};
  Status waited = Run([&] {
    for (size_t i = 0; i < kRedisConnectionsMax; ++i) {
      runtime_.Spawn([&] { (void)client.Call({"PING"}, brief); }, true);
    }
    EXPECT_TRUE(runtime::SleepFor(std::chrono::milliseconds(1), nullptr).ok());
    return client.Call({"PING"}, kInTurn).status();
  });
  EXPECT_EQ(waited.code(), StatusCode::kDeadlineExceeded);
  server.GoOn();
  EXPECT_TRUE(Call(client, {"PING"}).ok());
}

// The end of the connection arrives together with the reply.
TEST_F(RedisTest, AServerThatClosesAfterEachReplyFailsNobodyWhoWaits) {
  ScriptedServer server([](Connection& connection) {
    if (connection.Read() > 0) connection.SendAndEnd("+PONG\r\n");
    connection.WaitUntilPeerCloses();
  });
  RedisClient client(Endpoint(server));
  constexpr int kFibers = 40;
  static_assert(kFibers > 2 * kRedisConnectionsMax);
  std::vector<runtime::Promise<std::string>> done(kFibers);
  // All on one engine thread, so that they share its connections.
  Run([&] {
    for (const auto& promise : done) {
      runtime_.Spawn(
          [&client, promise] { promise.Set(client.Call({"PING"}, kInTurn).status().ToString()); },
          true);
    }
  });
  const std::string ok = Status::Ok().ToString();
  for (auto& promise : done) EXPECT_EQ(promise.Wait(nullptr, kNoDeadline).value(), ok);
}

TEST_F(RedisTest, SurvivesWhatIsNotRedis) {
  for (const char* garbage : {"HTTP/1.1 400 Bad Request\r\n\r\n", "$abc\r\n", "*2000000000\r\n",
                              "*-5\r\n", "?\r\n", "$-7\r\n",
                              "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
                              "*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    ScriptedServer server([&](Connection& connection) {
      connection.Send(garbage);
      connection.WaitUntilPeerCloses();
    });
    RedisClient client(Endpoint(server));
    Result<RedisReply> reply = Call(client, {"PING"});
    ASSERT_FALSE(reply.ok()) << garbage;
    EXPECT_EQ(reply.status().code(), StatusCode::kDataLoss) << garbage;
  }
}

TEST_F(RedisTest, BoundsAReply) {
  ScriptedServer server([&](Connection& connection) {
    connection.Send("$999999999\r\n");
    std::string block(64 * 1024, 'x');
    while (connection.Send(block)) {
    }
  });
  RedisClient client(Endpoint(server));
  EXPECT_EQ(Call(client, {"GET", "k"}).status().code(), StatusCode::kDataLoss);
}

TEST_F(RedisTest, TellsThatTheConnectionWasLost) {
  ScriptedServer server([&](Connection& connection) { connection.Send("$10\r\nhalf"); });
  RedisClient client(Endpoint(server));
  EXPECT_EQ(Call(client, {"GET", "k"}).status().code(), StatusCode::kUnavailable);
}

TEST_F(RedisTest, AHostThatDoesNotResolveIsUnavailable) {
  RedisClient client(Endpoint("redis://nothing.invalid"));
  EXPECT_EQ(Call(client, {"PING"}).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace agent_graph::net
