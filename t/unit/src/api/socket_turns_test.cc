// Turns of a WebSocket on an engine thread: how much a client that sends endlessly or never reads
// takes from others.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/http/dispatch.h"
#include "api/routes.h"
#include "graph/compiled_graph.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::api {
namespace {

constexpr int kMessages = 1000;

NodeResult Nothing(const State&, RunContext&) {
  return {};
}

std::shared_ptr<const graph::CompiledGraph> SmallGraph() {
  GraphBuilder builder;
  builder.AddFunction("A", Nothing, Execution::kNonBlocking);
  builder.AddEdge(START, "A").AddEdge("A", END);
  return graph::CompiledGraph::Compile(builder, "small").value();
}

class SocketTurnsTest : public testing::Test {
 protected:
  SocketTurnsTest() : runtime_({.threads = 1}), graph_(SmallGraph()) {
    EXPECT_TRUE(runtime_.Start().ok());
    guard_ = auth::Guard::Create(settings_, {}).value();
    api_.routes = Routes();
    api_.settings = &settings_;
    api_.graph = graph_;
    api_.runtime = &runtime_;
    api_.log = &outbox_;
    api_.guard = guard_.get();
  }
  ~SocketTurnsTest() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  // A socket with `credit` whose frames are all refused.
  std::shared_ptr<bridge::Exchange> Open(bridge::CreditLimits credit) {
    bridge::RequestHead head;
    head.route = MatchRoute({}, "GET", "/v1/graph/ws").route;
    head.method = "GET";
    head.path = "/v1/graph/ws";
    head.websocket = true;
    head.headers = {{"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
    auto exchange =
        std::make_shared<bridge::Exchange>(bridge::ExchangeAddress{1, 1}, head, outbox_, credit);
    for (int i = 0; i < kMessages; ++i) EXPECT_FALSE(exchange->socket().Deliver({false, "[]"}));
    return exchange;
  }

  // Queued since the last call: messages taken, and bytes for the client.
  struct Progress {
    int taken = 0;
    uint64_t bytes = 0;
    bool over = false;
  };
  Progress Take() {
    std::vector<bridge::OutboxItem> items;
    outbox_.Swap(items);
    Progress progress;
    for (const bridge::OutboxItem& item : items) {
      progress.taken += std::holds_alternative<bridge::ReadBody>(item.payload);
      progress.over = progress.over || std::holds_alternative<bridge::TurnOver>(item.payload);
      const auto* chunk = std::get_if<bridge::SendChunk>(&item.payload);
      if (chunk != nullptr) progress.bytes += chunk->bytes.size();
    }
    return progress;
  }

  settings::Settings settings_;
  bridge::Outbox outbox_;
  runtime::Runtime runtime_;
  std::shared_ptr<const graph::CompiledGraph> graph_;
  std::unique_ptr<auth::Guard> guard_;
  ApiContext api_;
};

TEST_F(SocketTurnsTest, OthersRunBetweenTwoMessages) {
  std::shared_ptr<bridge::Exchange> exchange = Open({});
  const runtime::Promise<bool> turn_over;
  const runtime::Promise<int> taken_when_other_ran;
  runtime_.Spawn([&] {
    runtime_.Spawn([&] { taken_when_other_ran.Set(Take().taken); }, true);
    Dispatch(exchange, api_);
    turn_over.Set(true);
  });
  EXPECT_LT(*taken_when_other_ran.Wait(nullptr, kNoDeadline), kMessages);
  EXPECT_TRUE(turn_over.Wait(nullptr, kNoDeadline).ok());
}

TEST_F(SocketTurnsTest, MessagesWaitUntilTheAnswersToThoseBeforeAreRead) {
  constexpr uint64_t kHigh = 4096;
  std::shared_ptr<bridge::Exchange> exchange = Open({.high = kHigh, .low = 1024});
  const runtime::Promise<bool> turn_over;
  runtime_.Spawn([&] {
    Dispatch(exchange, api_);
    turn_over.Set(true);
  });
  Progress all;
  while (!all.over) {
    std::this_thread::yield();
    const Progress now = Take();
    EXPECT_LT(now.bytes, 2 * kHigh);
    all.taken += now.taken;
    all.over = now.over;
    if (now.bytes > 0) exchange->ReturnCredit(now.bytes);
  }
  EXPECT_EQ(all.taken, kMessages);
  EXPECT_TRUE(turn_over.Wait(nullptr, kNoDeadline).ok());
}

}  // namespace
}  // namespace agent_graph::api
