// Clients whose replies an engine thread receives.
#include <atomic>
#include <optional>
#include <thread>

#include "../fixture.h"
#include "runtime/runtime.h"

namespace agent_graph::state {
namespace {

using runtime::Promise;
using runtime::Runtime;

class ClientOnAFiber : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(runtime_->Start().ok());
    client_ = StartClient(directory_.path());
    RunTurn(*client_, "t", "", {UserMessage("m1")});
  }
  void TearDown() override {
    client_.reset();
    if (runtime_) EXPECT_TRUE(runtime_->Stop(DeadlineAfter(kPatience)).ok());
  }

  bool Answers() { return client_->GetThread(Scope::All(), "t").ok(); }
  // Runs `body` on a fiber and returns its result.
  bool OnAFiber(std::function<bool()> body) {
    const Promise<bool> result;
    runtime_->Spawn([=] { result.Set(body()); });
    const Result<bool> ended = result.Wait(nullptr, DeadlineAfter(kPatience));
    return ended.ok() && *ended;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<StateServer> server_ = StartServer(directory_.path());
  std::optional<Runtime> runtime_{std::in_place, runtime::RuntimeOptions{.threads = 1}};
  std::unique_ptr<Client> client_;
};

TEST_F(ClientOnAFiber, GetsItsAnswers) {
  EXPECT_TRUE(OnAFiber([this] {
    for (int i = 0; i < 1000; ++i) {
      if (!Answers()) return false;
    }
    return true;
  }));
}

// The link's thread receives what the engine thread leaves.
TEST_F(ClientOnAFiber, DoesNotKeepOtherThreadsFromTheirAnswers) {
  std::atomic<bool> answered{false};
  const Promise<bool> busy;
  const Promise<bool> ended;
  runtime_->Spawn([&] {
    const bool before = Answers();
    busy.Set(before);
    while (!answered) std::this_thread::yield();  // occupies the engine thread
    ended.Set(Answers());
  });
  const Result<bool> is_busy = busy.Wait(nullptr, DeadlineAfter(kPatience));
  EXPECT_TRUE(is_busy.ok() && *is_busy);
  EXPECT_TRUE(Answers());
  answered = true;
  const Result<bool> after = ended.Wait(nullptr, DeadlineAfter(kPatience));
  EXPECT_TRUE(after.ok() && *after);
}

TEST_F(ClientOnAFiber, ContinuesOnTheNextConnection) {
  EXPECT_TRUE(OnAFiber([this] {
    for (int i = 0; i < 100; ++i) {
      if (!Answers()) return false;
      client_->DropConnection();
      if (!Answers()) return false;
    }
    return true;
  }));
  EXPECT_TRUE(Answers());
}

TEST_F(ClientOnAFiber, OutlivesTheEngineThread) {
  EXPECT_TRUE(OnAFiber([this] { return Answers(); }));
  EXPECT_TRUE(runtime_->Stop(DeadlineAfter(kPatience)).ok());
  runtime_.reset();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Answers());
  client_->DropConnection();
  EXPECT_TRUE(Answers());
}

TEST_F(ClientOnAFiber, EndsWhileItsEngineThreadLives) {
  EXPECT_TRUE(OnAFiber([this] { return Answers(); }));
  client_.reset();
  client_ = StartClient(directory_.path());
  EXPECT_TRUE(OnAFiber([this] { return Answers(); }));
}

TEST(ClientOnFibers, ServesSeveralEngineThreads) {
  TemporaryDirectory directory;
  const auto server = StartServer(directory.path());
  Runtime runtime({.threads = 4});
  ASSERT_TRUE(runtime.Start().ok());
  auto client = StartClient(directory.path());
  RunTurn(*client, "t", "", {UserMessage("m1")});
  std::vector<Promise<bool>> ended(8);
  for (const Promise<bool>& promise : ended) {
    runtime.Spawn([&client, promise] {
      bool all = true;
      for (int i = 0; i < 100; ++i) all = client->GetThread(Scope::All(), "t").ok() && all;
      promise.Set(all);
    });
  }
  for (const Promise<bool>& promise : ended) {
    const Result<bool> all = promise.Wait(nullptr, DeadlineAfter(kPatience));
    EXPECT_TRUE(all.ok() && *all);
  }
  client.reset();
  EXPECT_TRUE(runtime.Stop(DeadlineAfter(kPatience)).ok());
}

}  // namespace
}  // namespace agent_graph::state
