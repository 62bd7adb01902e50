// A sync that takes long: clients are pinged meanwhile.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "executor_fixture.h"
#include "slow_database.h"

namespace agent_graph::state {
namespace {

class PingedClient : public ExecutorClient {
 public:
  void SendAll(std::vector<ClientMessage> messages) override {
    MutexLock lock(mutex_);
    for (const ClientMessage& message : messages) {
      if (std::holds_alternative<Ping>(message)) is_pinged_ = true;
    }
    changed_.NotifyAll();
  }
  void AwaitPing() {
    MutexLock lock(mutex_);
    while (!is_pinged_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool is_pinged_ AG_GUARDED_BY(mutex_) = false;
};

class SlowSyncTest : public ExecutorTest {};

TEST_F(SlowSyncTest, ClientsArePingedDuringIt) {
  auto owned = std::make_unique<SlowDatabase>();
  SlowDatabase& database = *owned;
  const auto client = std::make_shared<PingedClient>();
  Start(std::move(owned), client, /*answers_pings=*/true);
  Send(Operation::kBeginRun, RunOn("t"));
  Append("another");
  database.began.get_future().wait();
  client->AwaitPing();
  database.finish.set_value();
}

}  // namespace
}  // namespace agent_graph::state
