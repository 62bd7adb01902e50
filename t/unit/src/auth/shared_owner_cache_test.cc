#include <gtest/gtest.h>

#include "../../engine/net/on_fiber.h"
#include "../../engine/net/redis_server.h"
#include "../../engine/net/scripted_server.h"
#include "auth/owner_cache.h"
#include "auth/ownership.h"
#include "owners.h"

namespace agent_graph::auth {
namespace {

using agent_graph::testing::RedisServer;
using agent_graph::testing::ScriptedServer;

class SharedOwners : public agent_graph::testing::OnFiber {
 protected:
  // A lookup like that of each worker, with the same Redis and the same state.
  std::unique_ptr<OwnerLookup> Worker(const std::string& url) {
    auto warn = [this](const std::string& line) {
      std::lock_guard lock(mutex_);
      warnings_.push_back(line);
    };
    auto shared = std::make_unique<SharedOwnerCache>(net::ParseRedisUrl(url).value(),
                                                     "svc:authz:owner", warn);
    return std::make_unique<OwnerLookup>(state_.Reader(), std::move(shared), warn);
  }
  Ownership Find(OwnerLookup& worker, const std::string& user, const std::string& thread) {
    return Run([&] { return worker.Find(user, thread); });
  }
  // The cache does not wait for its writes, but a later command on the same engine thread runs
  // after them.
  std::string Stored(const std::string& url, const std::string& key, const std::string& wanted) {
    net::RedisClient client(net::ParseRedisUrl(url).value());
    std::string value;
    for (int i = 0; i < 2000; ++i) {
      value =
          Run([&] { return client.Call({"GET", key}, {.server = std::chrono::minutes(2)})->text; });
      if (value == wanted) break;
    }
    return value;
  }

  testing::Owners state_;
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

TEST_F(SharedOwners, OneWorkerReadsForAll) {
  RedisServer server;
  auto one = Worker(server.Url());
  auto two = Worker(server.Url());
  state_.owners["t"] = "alice";
  EXPECT_EQ(Find(*one, "alice", "t"), Ownership::kCaller);
  EXPECT_EQ(Stored(server.Url(), "svc:authz:owner:t", "alice"), "alice");
  EXPECT_EQ(Find(*two, "alice", "t"), Ownership::kRemembered);
  EXPECT_EQ(state_.reads, 1);
  EXPECT_EQ(Find(*two, "bob", "t"), Ownership::kForeign) << "confirmed by a read";
  EXPECT_EQ(state_.reads, 2);
  Run([&] {
    one->Evict("t");
    return true;
  });
  EXPECT_EQ(Stored(server.Url(), "svc:authz:owner:t", ""), "");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(SharedOwners, OwnersAreForgottenSomeTime) {
  RedisServer server;
  auto worker = Worker(server.Url());
  state_.owners["t"] = "alice";
  EXPECT_EQ(Find(*worker, "alice", "t"), Ownership::kCaller);
  EXPECT_EQ(Stored(server.Url(), "svc:authz:owner:t", "alice"), "alice");
  net::RedisClient client(net::ParseRedisUrl(server.Url()).value());
  EXPECT_GT(Run([&] {
              return client.Call({"TTL", "svc:authz:owner:t"}, {.server = std::chrono::minutes(2)})
                  ->integer;
            }),
            0);
}

TEST_F(SharedOwners, AThreadThatIsNotThereIsNotStored) {
  RedisServer server;
  auto worker = Worker(server.Url());
  EXPECT_EQ(Find(*worker, "alice", "t"), Ownership::kNoThread);
  EXPECT_EQ(Stored(server.Url(), "svc:authz:owner:t", ""), "");
}

TEST_F(SharedOwners, AStoppedServerFailsNoLookup) {
  std::string path = RedisServer::NewSocketPath();
  auto worker = Worker("unix://" + path);
  state_.owners = {{"t", "alice"}, {"u", "bob"}};
  EXPECT_EQ(Find(*worker, "alice", "t"), Ownership::kCaller);
  EXPECT_EQ(Find(*worker, "alice", "u"), Ownership::kForeign);
  EXPECT_EQ(Find(*worker, "alice", "new"), Ownership::kNoThread);
  EXPECT_EQ(warnings_.size(), 1u) << "told once";
}

TEST_F(SharedOwners, AHangingServerFailsNoLookup) {
  RedisServer server;
  auto worker = Worker(server.ImpatientUrl());
  server.Hang();
  state_.owners = {{"t", "alice"}};
  EXPECT_EQ(Find(*worker, "alice", "t"), Ownership::kCaller);
  EXPECT_EQ(Find(*worker, "bob", "t"), Ownership::kForeign);
  EXPECT_EQ(Find(*worker, "alice", "new"), Ownership::kNoThread);
  EXPECT_EQ(warnings_.size(), 1u);
  server.GoOn();
}

TEST_F(SharedOwners, AServerThatFailedIsLeftAloneForAWhile) {
  ScriptedServer server([](agent_graph::testing::Connection&) {});
  auto worker = Worker("redis://127.0.0.1:" + std::to_string(server.port()));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Find(*worker, "alice", "new"), Ownership::kNoThread);
  EXPECT_LT(server.connections(), 10);
  EXPECT_GE(server.connections(), 1);
}

TEST_F(SharedOwners, GarbageFailsNoLookup) {
  ScriptedServer server([](agent_graph::testing::Connection& connection) {
    connection.Send("220 mail.example ESMTP\r\n");
    connection.WaitUntilPeerCloses();
  });
  auto worker = Worker("redis://127.0.0.1:" + std::to_string(server.port()));
  state_.owners = {{"t", "alice"}};
  EXPECT_EQ(Find(*worker, "alice", "t"), Ownership::kCaller);
  EXPECT_EQ(Find(*worker, "bob", "t"), Ownership::kForeign);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(SharedOwners, AWrongTypeOfValueFailsNoLookup) {
  RedisServer server;
  net::RedisClient client(net::ParseRedisUrl(server.Url()).value());
  Run([&] {
    return client.Call({"LPUSH", "svc:authz:owner:t", "x"}, {.server = std::chrono::minutes(2)})
        .ok();
  });
  auto worker = Worker(server.Url());
  state_.owners = {{"t", "alice"}};
  EXPECT_EQ(Find(*worker, "alice", "t"), Ownership::kCaller);
  EXPECT_EQ(Find(*worker, "alice", "t"), Ownership::kRemembered);
}

}  // namespace
}  // namespace agent_graph::auth
